"""Bytes that are written on a frame's way, beside the fewest that it can do with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Copied:
    """Bytes a frame that is looked at; the bar is the detector's input and each face it cuts.

    What counts is said in `edgefaced.core.sampling.bytes_drawn`.
    """

    bytes_per_frame: float
    bar_bytes: float

    @property
    def holds(self) -> bool:
        return self.bytes_per_frame <= self.bar_bytes
