"""Where the pixels of a format lie in a camera's memory: views of it, and never a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from mmap import mmap

import numpy as np

from edgefaced.types import U8, PixelFormat

BYTES_PER_PIXEL = {
    PixelFormat.RGB: 3,
    PixelFormat.BGR: 3,
    PixelFormat.YUYV: 2,
    PixelFormat.NV12: 1,
    PixelFormat.I420: 1,
}
"""In a row of the first plane."""


@dataclass(frozen=True, slots=True, eq=False)
class Planes:
    """What a Frame is made of: `pixels`, and the `chroma` planes of NV12 and I420."""

    pixels: U8
    chroma: tuple[U8, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """A format at a size; `stride` is the bytes from one row of the first plane to the next."""

    pixel_format: PixelFormat
    width: int
    height: int
    stride: int

    @property
    def bytes_needed(self) -> int:
        """All planes, one after another, as they lie in one piece of memory."""
        halves = self.pixel_format in (PixelFormat.NV12, PixelFormat.I420)
        rows = self.height * 3 // 2 if halves else self.height
        return self.stride * rows

    def views(self, memory: Sequence[mmap], offset: int = 0) -> Planes:
        """The planes in one piece of memory, or, for NV12, in two: luma and chroma.

        Padding of rows becomes strides. Raises ValueError where the memory is too small.
        """
        width, height, stride = self.width, self.height, self.stride
        half = (height // 2, width // 2)
        first, last = memory[0], memory[-1]
        behind = offset + stride * height if first is last else 0
        match self.pixel_format:
            case PixelFormat.NV12:
                luma = _view(first, offset, (height, width), (stride, 1))
                return Planes(luma, (_view(last, behind, (*half, 2), (stride, 2, 1)),))
            case PixelFormat.I420:
                luma = _view(first, offset, (height, width), (stride, 1))
                narrow = stride // 2
                u = _view(first, behind, half, (narrow, 1))
                v = _view(first, behind + narrow * half[0], half, (narrow, 1))
                return Planes(luma, (u, v))
            case packed:
                size = BYTES_PER_PIXEL[packed]
                return Planes(_view(first, offset, (height, width, size), (stride, size, 1)))


def _view(memory: mmap, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> U8:
    rows, row = shape[0], int(np.prod(shape[1:]))
    if offset + (rows - 1) * strides[0] + row > len(memory):
        raise ValueError(f"{len(memory)} bytes are too few for {shape} at {offset}")
    # An array of its own in between, because that one holds the mapping open; the view alone
    # would let it be closed, and reading it would then end the process.
    flat = np.frombuffer(memory, np.uint8)
    return np.ndarray(shape, np.uint8, buffer=flat, offset=offset, strides=strides)
