"""Is anything happening? A tiny luma picture, compared with what the scene usually looks like.

An empty scene then costs a few looks a second instead of one a frame, and the look that finds a
person comes with the frame in which the person shows up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F32, U8, Box, Frame, PixelFormat

THUMB_WIDTH, THUMB_HEIGHT = 48, 27

BODY_SIDES = 2.0
"""How far a body reaches to either side of its face's middle, in widths of the face."""


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
    rows = _middles(frame.height, THUMB_HEIGHT)
    columns = _middles(frame.width, THUMB_WIDTH)
    picked = frame.pixels[rows[:, None], columns]
    if frame.pixel_format in (PixelFormat.RGB, PixelFormat.BGR):
        return np.ascontiguousarray(picked[..., 1])
    return np.ascontiguousarray(picked[..., 0]) if picked.ndim == 3 else picked


def _middles(size: int, cells: int) -> NDArray[np.intp]:
    """The pixel in the middle of each of so many cells of one size."""
    return np.arange(cells) * size // cells + size // (2 * cells)


class PresenceGate:
    """Decides for every frame whether it is worth a look; no clock, no input or output."""

    def __init__(self, limits: PresenceLimits | None = None) -> None:
        self._limits = limits or PresenceLimits()
        self._usual: F32 | None = None
        self._seen_at = 0.0
        self._changed: NDArray[np.bool_] = np.zeros((THUMB_HEIGHT, THUMB_WIDTH), np.bool_)
        self._awake_until = float("-inf")
        self._looked_at = float("-inf")

    def wake(self, now: float) -> None:
        """Something else has noticed a person: a face in view, a motion detector."""
        self._awake_until = max(self._awake_until, now + self._limits.stay_awake)

    def look(self, thumb: U8, now: float) -> bool:
        """Whether to look at the frame that `thumb` was made of."""
        limits = self._limits
        self._changed = self._compare(thumb, now)
        if self._enough(self._changed):
            self.wake(now)
        due = now - self._looked_at >= limits.idle_look_every
        if now <= self._awake_until or due:
            self._looked_at = now
            return True
        return False

    def restless_beside(self, faces: Sequence[Box], width: int, height: int) -> bool:
        """Whether the frame looked at last has changed where none of these people stands.

        `faces` lie in a frame of this size; below a face and beside it is its body.
        """
        beside = self._changed.copy()
        cell_width, cell_height = width / THUMB_WIDTH, height / THUMB_HEIGHT
        for face in faces:
            x, _ = face.centre
            left = int(max((x - BODY_SIDES * face.width) / cell_width, 0))
            right = int(max((x + BODY_SIDES * face.width) / cell_width + 1, 0))
            top = int(max((face.top - face.height) / cell_height, 0))
            beside[top:, left:right] = False
        return self._enough(beside)

    def _enough(self, cells: NDArray[np.bool_]) -> bool:
        return float(np.mean(cells)) >= self._limits.changed_share

    def _compare(self, thumb: U8, now: float) -> NDArray[np.bool_]:
        """The cells that differ from the usual scene; all of them at the very first."""
        # A light blur takes the sensor's noise, which is independent from cell to cell.
        seen = cv2.blur(thumb, (3, 3)).astype(np.float32)
        if self._usual is None:
            self._usual, self._seen_at = seen, now
            return np.ones(thumb.shape, np.bool_)
        difference = seen - self._usual
        # The whole picture getting lighter or darker is the exposure, not a person. (numpy's own
        # median loads its masked arrays: 10 ms, in the middle of the second frame.)
        middle = difference.size // 2
        difference -= np.partition(difference, middle, axis=None)[middle]
        changed: NDArray[np.bool_] = np.abs(difference) > self._limits.changed_luma
        weight = 1.0 - float(np.exp(-max(now - self._seen_at, 0.0) / self._limits.adapt))
        self._usual += (seen - self._usual) * np.float32(weight)
        self._seen_at = now
        return changed
