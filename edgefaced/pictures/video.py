"""Video files: read as frames with the file's own capture times, and written."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import cv2
import numpy as np

from edgefaced.errors import PictureError, StorageError
from edgefaced.pictures.decode import BROKEN, MAX_PIXELS
from edgefaced.pictures.files import HEAD_BYTES, FileKind, kind_of, open_regular, sniff
from edgefaced.types import U8, Frame, PixelFormat

NANOSECONDS = 1_000_000_000
USUAL_RATE = 25.0
"""Frames per second of a file that does not say."""

_WRITERS = ((".mp4", "mp4v"), (".avi", "MJPG"))


class VideoFrames(Iterator[Frame]):
    """The frames of an open video, once, in order; nothing more once it is closed."""

    def __init__(self, capture: cv2.VideoCapture, path: Path) -> None:
        rate = capture.get(cv2.CAP_PROP_FPS)
        self.frames_per_second = rate if math.isfinite(rate) and rate > 0 else USUAL_RATE
        self._capture = capture
        self._path = path
        self._step_ns = round(NANOSECONDS / self.frames_per_second)
        self._captured_ns = -self._step_ns
        self._count = 0

    def __next__(self) -> Frame:
        read, pixels = self._capture.read()
        if not read:
            if self._count == 0 and self._capture.isOpened():
                raise PictureError(f"{self._path}: no frame of this video can be read")
            raise StopIteration
        position_ms = self._capture.get(cv2.CAP_PROP_POS_MSEC)
        said_ns = round(position_ms * 1e6) if math.isfinite(position_ms) else -1
        # Some files carry no times, or times that stand still.
        follows = said_ns > self._captured_ns
        self._captured_ns = said_ns if follows else self._captured_ns + self._step_ns
        self._count += 1
        return Frame(
            self._count - 1,
            self._captured_ns,
            np.asarray(pixels, dtype=np.uint8),
            PixelFormat.BGR,
        )


@contextmanager
def read_video(path: Path) -> Iterator[VideoFrames]:
    """The frames of a video or animated GIF, BGR and upright; the file is closed on leaving.

    `captured_ns` counts from the file's beginning and always grows. Raises PictureError.
    """
    with open_regular(path) as file:
        if kind_of(file.read(HEAD_BYTES)) not in {FileKind.VIDEO, FileKind.GIF}:
            raise PictureError(f"{path}: is not a video", "readable are MP4, AVI, MKV, MPEG, GIF")
    try:
        # An absolute path, so that no name can be taken for a protocol ("http:...").
        name = str(path.resolve()).encode().decode()
    except UnicodeEncodeError as error:
        raise PictureError(f"{path}: the name is not UTF-8", "rename the file") from error
    with _quiet():
        capture = cv2.VideoCapture(name, cv2.CAP_FFMPEG)
    try:
        if not capture.isOpened():
            raise PictureError(f"{path}: is a damaged video", "copy it again from where it was")
        width = int(capture.get(cv2.CAP_PROP_FRAME_WIDTH))
        height = int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT))
        if width * height > MAX_PIXELS:
            raise PictureError(f"{path}: its frames are too large ({width}x{height})")
        yield VideoFrames(capture, path)
    finally:
        capture.release()


def moves(path: Path) -> bool:
    """Whether a file is a video, or a GIF of more than one frame. Never raises."""
    kind = sniff(path)
    if kind is not FileKind.GIF:
        return kind is FileKind.VIDEO
    from PIL.GifImagePlugin import GifImageFile

    try:
        with open_regular(path) as file, GifImageFile(file) as image:
            return image.is_animated
    except (PictureError, *BROKEN):
        return False


class VideoWriter:
    """Writes BGR frames of one size to a video, which has its name once its `with` block ends.

    A block that raises leaves no file. MPEG-4 in an .mp4 file, else Motion JPEG in an .avi file of
    the same name: `path` says which. Odd sizes lose their last column or row. Raises StorageError.
    """

    def __init__(self, path: Path, *, width: int, height: int, frames_per_second: float) -> None:
        self._shape = (height, width, 3)
        self._frames = 0
        for suffix, code in _WRITERS:
            self.path = path.with_suffix(suffix)
            self._draft = self.path.with_name(f".{os.getpid()}.{self.path.name}")
            with _quiet():
                self._writer = cv2.VideoWriter(
                    str(self._draft.absolute()),
                    cv2.CAP_FFMPEG,
                    cv2.VideoWriter.fourcc(*code),
                    frames_per_second,
                    (width, height),
                )
            if self._writer.isOpened():
                return
            self.discard()
        raise StorageError(f"{path}: a video cannot be written here", "is the folder writable?")

    def write(self, pixels: U8) -> None:
        """Appends one frame; one of another size is a ValueError, not dropped in silence."""
        if pixels.shape != self._shape:
            raise ValueError(f"a frame of this video is {self._shape}, not {pixels.shape}")
        with _quiet():
            self._writer.write(pixels)
        self._frames += 1

    def close(self) -> None:
        """Finishes the file, once. Raises StorageError where not every frame is in it."""
        if not self._writer.isOpened():
            return
        with _quiet():
            self._writer.release()
            written = _frames_in(self._draft)  # the writer itself says nothing of a full disk
        if written < self._frames:
            self.discard()
            raise StorageError(f"{self.path}: the video was not written", "is the disk full?")
        self._draft.replace(self.path)

    def discard(self) -> None:
        """Gives up what was written; nothing where it is closed."""
        with _quiet():
            self._writer.release()
        self._draft.unlink(missing_ok=True)

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def _frames_in(path: Path) -> int:
    capture = cv2.VideoCapture(str(path.absolute()), cv2.CAP_FFMPEG)
    try:
        return int(capture.get(cv2.CAP_PROP_FRAME_COUNT)) if capture.isOpened() else 0
    finally:
        capture.release()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps OpenCV and FFmpeg from printing what is said as an error here."""
    # FFmpeg's level is read from the environment at first use, and there is no other way to set it.
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    level = cv2.utils.logging.getLogLevel()
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        cv2.utils.logging.setLogLevel(level)
