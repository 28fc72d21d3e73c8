"""A part of a frame as a frame of its own: views only, so that looking closely copies nothing."""

from __future__ import annotations

import math

import numpy as np

from edgefaced.types import Box, FaceDetection, Frame, PixelFormat

SUBSAMPLED = {PixelFormat.NV12, PixelFormat.I420, PixelFormat.YUYV}


SIDE_STEP_PX = 32
"""A side of so many pixels goes into a network's input in bands; an odd one, in one piece."""


def square_around(box: Box, factor: float, frame: Frame) -> Box:
    """A square of whole pixels around the box's centre, moved into the frame where it leaves it.

    Its side is `factor` times the box's longer side, the next SIDE_STEP_PX, as far as that fits.
    """
    wished = max(box.width, box.height) * factor
    steps = math.ceil(wished / SIDE_STEP_PX)
    side = min(max(steps, 1) * SIDE_STEP_PX, frame.width, frame.height)
    left, top = (
        min(max(int(centre - side / 2), 0), whole - side) // 2 * 2
        for centre, whole in zip(box.centre, (frame.width, frame.height), strict=True)
    )
    return Box(left, top, left + side, top + side)


def crop(frame: Frame, region: Box) -> tuple[Frame, int, int] | None:
    """The part of `frame` inside `region`, and its left and top in the frame; views of the pixels.

    Edges move outwards to even pixels where chroma is subsampled. None where nothing is inside.
    """
    step = 2 if frame.pixel_format in SUBSAMPLED else 1
    left = max(int(region.left) // step * step, 0)
    top = max(int(region.top) // step * step, 0)
    right = min(-(-int(region.right) // step) * step, frame.width)
    bottom = min(-(-int(region.bottom) // step) * step, frame.height)
    if right - left < step or bottom - top < step:
        return None
    rows, columns = slice(top, bottom), slice(left, right)
    half = slice(top // 2, bottom // 2), slice(left // 2, right // 2)
    part = Frame(
        sequence=frame.sequence,
        captured_ns=frame.captured_ns,
        pixels=frame.pixels[rows, columns],
        pixel_format=frame.pixel_format,
        chroma=tuple(plane[half] for plane in frame.chroma),
    )
    return part, left, top


def shifted(detection: FaceDetection, left: int, top: int) -> FaceDetection:
    """A detection of a part, in coordinates of the whole."""
    box = detection.box
    return FaceDetection(
        box=Box(box.left + left, box.top + top, box.right + left, box.bottom + top),
        landmarks=detection.landmarks + np.array([left, top], np.float32),
        score=detection.score,
    )
