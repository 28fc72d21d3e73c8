"""Fitting a frame into a network's input without distortion, and the exact way back.

The frame is scaled by one factor, rounded to whole pixels on each axis, and put in the input's
top left corner; the rest is padding. Rounding makes the two axes' factors differ a little, so
the way back uses each axis' own: nothing drifts at small sizes or extreme aspect ratios.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edgefaced.types import F32


@dataclass(frozen=True, slots=True)
class Letterbox:
    """How a frame of (width, height) lies in an input of (input_width, input_height), in pixels."""

    width: int
    height: int
    input_width: int
    input_height: int
    fitted_width: int
    fitted_height: int

    def to_frame(self, points: F32) -> F32:
        """Maps (..., 2) input coordinates to frame coordinates, both with integer pixel centres."""
        factors = np.array(
            [self.width / self.fitted_width, self.height / self.fitted_height], dtype=np.float32
        )
        return (points + np.float32(0.5)) * factors - np.float32(0.5)

    def to_input(self, points: F32) -> F32:
        """The inverse of `to_frame`."""
        factors = np.array(
            [self.fitted_width / self.width, self.fitted_height / self.height], dtype=np.float32
        )
        return (points + np.float32(0.5)) * factors - np.float32(0.5)


def fit(width: int, height: int, input_width: int, input_height: int) -> Letterbox:
    """The letterbox of a frame; a side keeps at least one pixel. ValueError for an empty frame."""
    if min(width, height, input_width, input_height) < 1:
        raise ValueError(f"cannot fit {width}x{height} into {input_width}x{input_height}")
    scale = min(input_width / width, input_height / height)
    return Letterbox(
        width=width,
        height=height,
        input_width=input_width,
        input_height=input_height,
        fitted_width=min(max(round(width * scale), 1), input_width),
        fitted_height=min(max(round(height * scale), 1), input_height),
    )


def trimmed(box: Letterbox, step: int) -> Letterbox:
    """The same frame in the smallest input that holds it, both sides multiples of `step`.

    What is drawn, and where, stays.
    """
    return replace(
        box,
        input_width=-(-box.fitted_width // step) * step,
        input_height=-(-box.fitted_height // step) * step,
    )
