"""A part of a frame as a frame of its own: views only, so that looking closely copies nothing."""

from __future__ import annotations

import numpy as np

from edgefaced.types import Box, FaceDetection, Frame, PixelFormat

SUBSAMPLED = {PixelFormat.NV12, PixelFormat.I420, PixelFormat.YUYV}


def square_around(box: Box, factor: float) -> Box:
    """The square with the box's centre whose side is `factor` times the box's longer side."""
    x, y = box.centre
    half = max(box.width, box.height) * factor / 2
    return Box(x - half, y - half, x + half, y + half)


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
