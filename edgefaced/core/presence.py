"""Is anything happening? A tiny luma picture, compared with what the scene usually looks like.

An empty scene then costs a few looks a second instead of one a frame, and the look that finds a
person comes with the frame in which the person shows up.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from edgefaced.types import F32, U8, Frame, PixelFormat

THUMB_WIDTH, THUMB_HEIGHT = 48, 27


@dataclass(frozen=True, slots=True)
class PresenceLimits:
    """Luma in steps of 0..255, times in seconds."""

    changed_luma: float = 12.0
    """A cell that differs by more from the usual scene has changed, noise aside."""
    changed_share: float = 0.004
    """The share of cells that must have changed: five of the picture's 1,296."""
    idle_look_every: float = 0.4
    """An unchanged scene is looked at this often all the same."""
    stay_awake: float = 2.0
    """After a change or a face, every frame is looked at for so long."""
    adapt: float = 4.0
    """Time constant with which the usual scene follows slow changes (daylight, a moved chair)."""


def luma_thumb(frame: Frame) -> U8:
    """(27, 48) luma of a frame: one pixel per cell is read, whatever the frame's size.

    Green stands for the luma of RGB: it carries most of it and needs no conversion.
    """
    rows = np.arange(THUMB_HEIGHT) * frame.height // THUMB_HEIGHT + frame.height // 54
    columns = np.arange(THUMB_WIDTH) * frame.width // THUMB_WIDTH + frame.width // 96
    picked = frame.pixels[rows[:, None], columns]
    if frame.pixel_format in (PixelFormat.RGB, PixelFormat.BGR):
        return np.ascontiguousarray(picked[..., 1])
    return np.ascontiguousarray(picked[..., 0]) if picked.ndim == 3 else picked


class PresenceGate:
    """Decides for every frame whether it is worth a look; no clock, no input or output."""

    def __init__(self, limits: PresenceLimits | None = None) -> None:
        self._limits = limits or PresenceLimits()
        self._usual: F32 | None = None
        self._seen_at = 0.0
        self._awake_until = float("-inf")
        self._looked_at = float("-inf")

    def wake(self, now: float) -> None:
        """Something else has noticed a person: a face in view, a motion detector."""
        self._awake_until = max(self._awake_until, now + self._limits.stay_awake)

    def look(self, thumb: U8, now: float) -> bool:
        """Whether to look at the frame that `thumb` was made of."""
        limits = self._limits
        if self._changed(thumb, now):
            self.wake(now)
        due = now - self._looked_at >= limits.idle_look_every
        if now <= self._awake_until or due:
            self._looked_at = now
            return True
        return False

    def _changed(self, thumb: U8, now: float) -> bool:
        # A light blur takes the sensor's noise, which is independent from cell to cell.
        seen = cv2.blur(thumb, (3, 3)).astype(np.float32)
        if self._usual is None:
            self._usual, self._seen_at = seen, now
            return True
        difference = seen - self._usual
        # The whole picture getting lighter or darker is the exposure, not a person.
        difference -= np.median(difference)
        share = float(np.mean(np.abs(difference) > self._limits.changed_luma))
        weight = 1.0 - float(np.exp(-max(now - self._seen_at, 0.0) / self._limits.adapt))
        self._usual += (seen - self._usual) * np.float32(weight)
        self._seen_at = now
        return share >= self._limits.changed_share
