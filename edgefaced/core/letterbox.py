"""Fitting a frame into a network's input without distortion, and the exact way back.

The frame is scaled by one factor, rounded to whole pixels on each axis, and put in the input's
top left corner; the rest is padding. Rounding makes the two axes' factors differ a little, so
the way back uses each axis' own: nothing drifts at small sizes or extreme aspect ratios.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from edgefaced.types import F32, U8

LARGEST_REDUCTION = 2
"""Bilinear sampling looks at two pixels an axis: reduced further at once, it skips some (aliasing).
"""


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

    Only padding goes: what is drawn, and where, stays. The input's sides are multiples already.
    """
    return replace(
        box,
        input_width=-(-box.fitted_width // step) * step,
        input_height=-(-box.fitted_height // step) * step,
    )


def halvings(size: tuple[int, int], target: tuple[int, int]) -> list[tuple[int, int]]:
    """(height, width) of the pictures between one of `size` and one of `target`, largest first."""
    height, width = size
    between: list[tuple[int, int]] = []
    while height > LARGEST_REDUCTION * target[0] or width > LARGEST_REDUCTION * target[1]:
        height, width = max((height + 1) // 2, target[0]), max((width + 1) // 2, target[1])
        between.append((height, width))
    return between


def resize_into(target: U8, pixels: U8) -> None:
    """Scales `pixels` to fill `target`, which has the same channels; every pixel counts.

    A large picture is halved until at most half remains to go: OpenCV averages 2x2 pixels several
    times faster than any larger area.
    """
    height, width = target.shape[:2]
    if pixels.shape[:2] == (height, width):
        np.copyto(target, pixels)
        return
    for half in halvings((pixels.shape[0], pixels.shape[1]), (height, width)):
        smaller = cv2.resize(pixels, half[::-1], interpolation=_sampling(pixels, half))
        pixels = np.asarray(smaller, np.uint8)
    how = _sampling(pixels, (height, width))
    cv2.resize(pixels, (width, height), dst=target, interpolation=how)


def _sampling(pixels: U8, size: tuple[int, int]) -> int:
    """Bilinear sampling, by the quicker of OpenCV's two ways to the same pixels (to one level).

    At just half the size the usual one averages 2x2 pixels; for two channels, the chroma of NV12,
    that is plain code, and half as fast as the exact one.
    """
    halved = pixels.shape[0] == 2 * size[0] and pixels.shape[1] == 2 * size[1]
    two_channels = pixels.ndim == 3 and pixels.shape[2] == 2
    return cv2.INTER_LINEAR_EXACT if halved and two_channels else cv2.INTER_LINEAR
