"""Scaling a plane: every pixel of it counts, and what lies in between can be cut into bands.

Bilinear sampling looks at two pixels an axis, and skips some where a plane is reduced to less than
half. So it is halved until at most half remains to go: OpenCV averages 2x2 pixels several times
faster than any larger area.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import cv2
import numpy as np

from edgefaced.types import U8

LARGEST_REDUCTION = 2

Size = tuple[int, int]
"""Height and width."""


@lru_cache(maxsize=256)
def stages(size: Size, target: Size) -> tuple[Size, ...]:
    """The sizes of what a plane is scaled to, one after the other; the last one is the target."""
    (height, width), made = size, []
    while height > LARGEST_REDUCTION * target[0] or width > LARGEST_REDUCTION * target[1]:
        height, width = max((height + 1) // 2, target[0]), max((width + 1) // 2, target[1])
        made.append((height, width))
    return (*made, target)


def exact_halvings(size: Size, target: Size) -> int:
    """How many of the stages, from the first on, are just half of what they are made of."""
    count = 0
    for half in stages(size, target):
        if size != (2 * half[0], 2 * half[1]):
            break
        count, size = count + 1, half
    return count


def rows_apart(size: Size, target: Size) -> int:
    """Scaled in bands of so many rows of the target, or of a multiple, nothing changes in it.

    There, a row begins where one of each picture before it does. What is enlarged is not cut: its
    rows are mixed from neighbours on both sides.
    """
    heights = [size[0], *(height for height, _ in stages(size, target))]
    return heights[-1] if heights[0] < heights[-1] else heights[-1] // math.gcd(*heights)


def scale(pixels: U8, pictures: Iterable[U8]) -> U8:
    """Scales `pixels` to fill the first of the pictures, that to fill the second; the last one."""
    for picture in pictures:
        size = (picture.shape[1], picture.shape[0])
        cv2.resize(pixels, size, dst=picture, interpolation=cv2.INTER_LINEAR)
        pixels = picture
    return pixels


def resize_into(target: U8, pixels: U8) -> None:
    """Scales `pixels` to fill `target`, which has the same channels; every pixel counts."""
    *halves, _ = stages(pixels.shape[:2], target.shape[:2])
    scale(pixels, [*(np.empty((*half, *pixels.shape[2:]), np.uint8) for half in halves), target])


class Scratch:
    """Memory dealt out from its beginning; without memory it only counts."""

    __slots__ = ("_memory", "_used", "most")

    def __init__(self, memory: U8 | None = None) -> None:
        self._memory = ENDLESS if memory is None else memory
        self._used = 0
        self.most = 0
        """Bytes that were dealt out at one time, at most."""

    def pictures(self, sizes: Sequence[Size], channels: int = 1) -> list[U8]:
        """(height, width) each, or (height, width, channels). ValueError where no more is left."""
        dealt = []
        for height, width in sizes:
            end = self._used + height * width * channels
            shape = (height, width) if channels == 1 else (height, width, channels)
            dealt.append(self._memory[self._used : end].reshape(shape))
            self._used = end
        self.most = max(self.most, self._used)
        return dealt

    def passing(self, sizes: Sequence[Size]) -> list[U8]:
        """The same, but what is dealt out next lies in the same place: it is used afterwards."""
        used = self._used
        dealt = self.pictures(sizes)
        self._used = used
        return dealt


ENDLESS = np.broadcast_to(np.uint8(0), 1 << 40)
