"""A frame's planes scaled in bands of rows, all through the same scratch: what lies between a frame
and its target never has the size of either.

A band is laid out in the scratch once, and painted with one part of the planes after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from edgefaced.core.scaling import Scratch, Size, exact_halvings, rows_apart, scale, stages
from edgefaced.types import U8, ColourOrder, PixelFormat

PACKED = {PixelFormat.RGB: ColourOrder.RGB, PixelFormat.BGR: ColourOrder.BGR}

FROM_I420 = {ColourOrder.RGB: cv2.COLOR_YUV2RGB_I420, ColourOrder.BGR: cv2.COLOR_YUV2BGR_I420}

SCRATCH_BYTES = 524_288
"""Stays in the second cache of a small board, or in the last one of the smallest. In 128 KiB OpenCV
divides no band among its threads, and a large frame has so many that the calls cost more than the
cache saves.
"""

MOST_LAID = 4
"""A camera's frames are two: its bands, and the last one, which may be smaller."""

Painter = Callable[[Sequence[U8], U8], None]
"""Scales these rows of a frame's planes into (height, width, 3), in its colours."""


@dataclass(frozen=True, slots=True)
class Bands:
    """How a frame is cut: so many `rows` of the target at once take so much scratch."""

    rows: int
    scratch_bytes: int


@lru_cache(maxsize=64)
def cut(pixel_format: PixelFormat, size: Size, target: Size) -> Bands:
    """The fewest bands that SCRATCH_BYTES hold, or the smallest that the two sizes allow."""
    scratch = Scratch()
    lay_out(pixel_format, size, target, ColourOrder.RGB, scratch)
    apart = rows_apart(size, target)
    if pixel_format not in PACKED:
        chroma = (size[0], size[1] // 2) if pixel_format is PixelFormat.YUYV else halved(size)
        apart = math.lcm(apart, 2 * rows_apart(chroma, halved(target)))
    parts = target[0] // apart
    bands = -(-parts // max(SCRATCH_BYTES * parts // scratch.most, 1))
    rows = -(-parts // bands) * apart
    return Bands(rows, scratch.most * rows // target[0])


def lay_out(
    pixel_format: PixelFormat, size: Size, target: Size, order: ColourOrder, scratch: Scratch
) -> Painter:
    """A band of a frame, `size`, that becomes `target`, in `order`; both even where it is YUV.

    Raises ValueError where the scratch is too small.
    """
    match pixel_format:
        case PixelFormat.NV12:
            return _nv12(size, target, order, scratch)
        case PixelFormat.I420:
            return _i420(size, target, order, scratch)
        case PixelFormat.YUYV:
            return _yuyv(size, target, order, scratch)
    return _packed(size, target, PACKED[pixel_format] is not order, scratch)


class Easel:
    """The scratch of one detector, and the bands that were laid out in it last; for one thread."""

    __slots__ = ("_laid", "_memory")

    def __init__(self) -> None:
        self._memory = np.empty(SCRATCH_BYTES, np.uint8)
        self._laid: dict[tuple[PixelFormat, Size, Size, ColourOrder], Painter] = {}

    def painter(
        self, pixel_format: PixelFormat, size: Size, target: Size, order: ColourOrder
    ) -> Painter:
        """As `lay_out`; where SCRATCH_BYTES do not do, in memory of its own."""
        key = (pixel_format, size, target, order)
        if key not in self._laid:
            if len(self._laid) == MOST_LAID:
                self._laid.clear()
            counted = Scratch()
            lay_out(pixel_format, size, target, order, counted)
            fits = counted.most <= SCRATCH_BYTES
            memory = self._memory if fits else np.empty(counted.most, np.uint8)
            self._laid[key] = lay_out(pixel_format, size, target, order, Scratch(memory))
        return self._laid[key]


def halved(size: Size) -> Size:
    """Of chroma, which has half the rows and columns."""
    return size[0] // 2, size[1] // 2


def _packed(size: Size, target: Size, swapped: bool, scratch: Scratch) -> Painter:
    *halves, last = scratch.pictures(stages(size, target), 3)

    def paint(planes: Sequence[U8], picture: U8) -> None:
        if swapped:
            scale(planes[0], [*halves, last])
            cv2.cvtColor(last, cv2.COLOR_BGR2RGB, dst=picture)
        else:
            scale(planes[0], [*halves, picture])

    return paint


def _i420(size: Size, target: Size, order: ColourOrder, scratch: Scratch) -> Painter:
    yuv, luma, u, v = _yuv(target, scratch)
    lumas = [*scratch.passing(stages(size, target)[:-1]), luma]
    between = scratch.passing(stages(halved(size), halved(target))[:-1])

    def paint(planes: Sequence[U8], picture: U8) -> None:
        scale(planes[0], lumas)
        scale(planes[1], [*between, u])
        scale(planes[2], [*between, v])
        cv2.cvtColor(yuv, FROM_I420[order], dst=picture)

    return paint


def _nv12(size: Size, target: Size, order: ColourOrder, scratch: Scratch) -> Painter:
    """Chroma has two channels, which OpenCV halves slowly.

    One, or four that are two pixels, take a third of the time. Of four it takes the mean of the
    first pixel and the third, and of the second and the fourth: right if another halving follows.
    """
    yuv, luma, u, v = _yuv(target, scratch)
    lumas = [*scratch.passing(stages(size, target)[:-1]), luma]
    sizes = (halved(size), *stages(halved(size), halved(target)))
    exact = exact_halvings(sizes[0], sizes[-1])
    if exact:
        joint = scratch.pictures([(h, w // 2) for h, w in sizes[1:exact]], 4)
        parts = scratch.pictures([sizes[exact - 1]] * 2)
        between = scratch.passing(sizes[exact:-1])
    else:
        joint, parts, between = scratch.pictures(sizes[1:], 2), [u, v], []

    def paint(planes: Sequence[U8], picture: U8) -> None:
        scale(planes[0], lumas)
        chroma = planes[1]
        if joint:
            pixels = chroma.reshape(chroma.shape[0], -1, joint[0].shape[2])
            chroma = scale(pixels, joint).reshape(*parts[0].shape, 2)
        cv2.split(chroma, parts)
        if exact:
            scale(parts[0], [*between, u])
            scale(parts[1], [*between, v])
        cv2.cvtColor(yuv, FROM_I420[order], dst=picture)

    return paint


def _yuyv(size: Size, target: Size, order: ColourOrder, scratch: Scratch) -> Painter:
    """Four channels are two lumas with their U and V. They are halved, luma is taken out where one
    halving is left to it, for the reason in `_nv12`, and the rest goes on to the size of chroma.
    """
    yuv, luma, u, v = _yuv(target, scratch)
    whole = (size[0], size[1] // 2)
    joint = scratch.pictures(stages(whole, halved(target)), 4)
    common = max(exact_halvings(size, target) - 1, 0)
    left = (size, *stages(size, target))[common]
    lumas = scratch.pictures([left, *stages(left, target)[:-1]])
    (unwanted,) = scratch.pictures([left])
    (nothing,) = scratch.pictures([halved(target)])

    def paint(planes: Sequence[U8], picture: U8) -> None:
        pixels = scale(planes[0].reshape(*whole, 4), joint[:common])
        cv2.split(pixels.reshape(*left, 2), [lumas[0], unwanted])
        scale(lumas[0], [*lumas[1:], luma])
        cv2.split(scale(pixels, joint[common:]), [nothing, u, nothing, v])
        cv2.cvtColor(yuv, FROM_I420[order], dst=picture)

    return paint


def _yuv(target: Size, scratch: Scratch) -> tuple[U8, U8, U8, U8]:
    """A picture in I420, (height * 3/2, width), and views of it: luma, U, V."""
    height, width = target
    (yuv,) = scratch.pictures([(height * 3 // 2, width)])
    u, v = yuv[height:].reshape(2, height // 2, width // 2)
    return yuv, yuv[:height], u, v
