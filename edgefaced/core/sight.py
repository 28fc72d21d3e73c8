"""Whether a camera still sees: a sensor's noise never repeats, and a scene has some contrast.

Frames that repeat say nothing new of anybody: taken for looks of their own, one picture that a
driver hands out again and again would agree with itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from edgefaced.types import U8


class Glance(StrEnum):
    """What one frame is, beside those before it."""

    NEW = "new"
    REPEATED = "repeated"
    FROZEN = "frozen"


@dataclass(frozen=True, slots=True)
class SightLimits:
    """Luma in steps of 0..255, times in seconds."""

    frozen_after: float = 3.0
    """A picture that repeats for so long is that of a frozen camera."""
    blind_after: float = 10.0
    """A picture of one shade for so long is dark, or the lens is covered."""
    judge_every: float = 0.5
    """How often it is looked at whether the picture is of one shade; a repeated one always is."""
    least_contrast: int = 8
    """Between the darkest and the brightest twentieth; a picture with less is of one shade."""


class Sight:
    """Follows one camera, also while it is opened again; no clock of its own."""

    def __init__(self, limits: SightLimits | None = None) -> None:
        self._limits = limits or SightLimits()
        self._last: U8 | None = None
        self._new_at = float("-inf")
        self._judged_at = float("-inf")
        self._plain = False
        self._varied_at: float | None = None
        self.blind = False
        """Whether the picture has been of one shade for a while."""

    def opened(self, now: float) -> None:
        """The camera was opened again, and has a while to show another picture than before."""
        self._new_at = now

    def look(self, thumb: U8, now: float) -> Glance:
        """Takes a tiny luma picture of a frame; one of a single shade may repeat."""
        limits = self._limits
        same = self._last is not None and np.array_equal(thumb, self._last)
        self._last = thumb
        if same or now >= self._judged_at + limits.judge_every:
            self._judge(thumb, now)
        if self._plain or not same:
            self._new_at = now
            return Glance.NEW
        return Glance.FROZEN if now - self._new_at >= limits.frozen_after else Glance.REPEATED

    def _judge(self, thumb: U8, now: float) -> None:
        """Whether the picture is of one shade, a few hot pixels aside."""
        ranked = np.sort(thumb, axis=None)
        low, high = ranked[ranked.size // 20], ranked[-1 - ranked.size // 20]
        self._plain = int(high) - int(low) < self._limits.least_contrast
        self._judged_at = now
        if self._varied_at is None or not self._plain:
            self._varied_at = now
        self.blind = now - self._varied_at >= self._limits.blind_after
