"""Pictures and videos one after another on one time line, as the frames of a camera."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgefaced.camera.convert import fitted, planes_of
from edgefaced.camera.layout import Planes
from edgefaced.pictures.decode import read_picture
from edgefaced.pictures.files import FileKind, sniff
from edgefaced.pictures.video import read_video
from edgefaced.types import U8, PixelFormat

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """One frame and when it happens, counted from the beginning of its reel."""

    offset_ns: int
    planes: Planes


Playing = Generator[Shot, None, int]
"""Frames of a reel from its beginning; returns how long it lasts."""


@dataclass(frozen=True, slots=True)
class Reel:
    """Files and how they are shown; pictures stay for `picture_seconds` at `rate` frames a second.

    A side of 0 follows the first picture's.
    """

    paths: tuple[Path, ...]
    pixel_format: PixelFormat
    rate: float
    picture_seconds: float
    width: int = 0
    height: int = 0

    def play(self) -> Playing:
        """Every frame in order. Raises PictureError when it comes to a file that is damaged.

        Closing the generator closes the file it is at.
        """
        begins, size = 0, (self.width, self.height)
        for path in self.paths:
            if sniff(path) in (FileKind.VIDEO, FileKind.GIF):
                begins, size = yield from self._video(path, begins, size)
            else:
                begins, size = yield from self._picture(path, begins, size)
        return begins

    def _picture(
        self, path: Path, begins: int, size: tuple[int, int]
    ) -> Generator[Shot, None, tuple[int, tuple[int, int]]]:
        pixels = read_picture(path)
        size = _size(pixels, size)
        planes = self._planes(pixels, size)
        count = max(round(self.picture_seconds * self.rate), 1)
        for turn in range(count):
            yield Shot(begins + round(turn * NANOSECONDS / self.rate), planes)
        return begins + round(count * NANOSECONDS / self.rate), size

    def _video(
        self, path: Path, begins: int, size: tuple[int, int]
    ) -> Generator[Shot, None, tuple[int, tuple[int, int]]]:
        at, step = begins, round(NANOSECONDS / self.rate)
        first: int | None = None
        with read_video(path) as frames:
            for frame in frames:
                size = _size(frame.pixels, size)
                # A file's own time need not begin at 0.
                first = frame.captured_ns if first is None else first
                before, at = at, begins + frame.captured_ns - first
                step = at - before or step
                yield Shot(at, self._planes(frame.pixels, size))
        return at + step, size

    def _planes(self, bgr: U8, size: tuple[int, int]) -> Planes:
        return planes_of(fitted(bgr, *size), self.pixel_format)


def _size(pixels: U8, size: tuple[int, int]) -> tuple[int, int]:
    """Even sides; those that are open follow the picture's shape."""
    width, height = size
    own_height, own_width = pixels.shape[:2]
    if not width:
        width = round(height * own_width / own_height) if height else own_width
    if not height:
        height = round(width * own_height / own_width)
    return max(width // 2 * 2, 2), max(height // 2 * 2, 2)


def replayed(shots: Sequence[Shot], lasts_ns: int) -> Playing:
    """A reel that is in memory."""
    yield from shots
    return lasts_ns
