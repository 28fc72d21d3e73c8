"""One BGR picture to a file, or to the bytes of one."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np

from edgefaced.errors import PictureError, StorageError
from edgefaced.types import U8

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
JPEG_QUALITY = 92


def png_bytes(pixels: U8) -> bytes:
    """BGR pixels as a PNG file's bytes."""
    return _encoded(pixels, ".png")


def jpeg_bytes(pixels: U8, quality: int = JPEG_QUALITY) -> bytes:
    """BGR pixels as a JPEG file's bytes."""
    return _encoded(pixels, ".jpg", quality)


def write_picture(path: Path, pixels: U8) -> None:
    """Writes BGR pixels in the format of the path's suffix; a whole file or none.

    Raises PictureError for a suffix that cannot be written, StorageError where the disk says no.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise PictureError(f"{path}: cannot write {path.suffix!r}", f"one of {', '.join(SUFFIXES)}")
    _write_whole(path, _encoded(pixels, path.suffix.lower()), 0o666)


def write_private(path: Path, data: bytes) -> None:
    """A picture file's bytes, whole or not at all, readable by nobody else. Raises StorageError."""
    _write_whole(path, data, 0o600)


def _write_whole(path: Path, data: bytes, mode: int) -> None:
    draft = path.with_name(f".{os.getpid()}.part")
    try:
        draft.unlink(missing_ok=True)
        try:
            draft.touch(mode=mode)
            draft.write_bytes(data)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error


def _encoded(pixels: U8, suffix: str, quality: int = JPEG_QUALITY) -> bytes:
    options = [cv2.IMWRITE_JPEG_QUALITY, quality] if suffix in {".jpg", ".jpeg"} else []
    written, data = cv2.imencode(suffix, pixels, options)
    if not written:
        raise PictureError(f"a picture of {pixels.shape} cannot be written as {suffix}")
    return np.asarray(data).tobytes()
