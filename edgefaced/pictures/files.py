"""Opening files that people name: only regular ones, and told apart by their first bytes."""

from __future__ import annotations

import os
import stat
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from edgefaced.errors import PictureError

HEAD_BYTES = 32
READABLE = "readable are JPEG, PNG, WebP, BMP, GIF, PNM and HEIC"


class FileKind(StrEnum):
    """What a file is by its first bytes; a name proves nothing."""

    JPEG = "JPEG"
    PNG = "PNG"
    WEBP = "WebP"
    BMP = "BMP"
    GIF = "GIF"
    PNM = "PNM"
    HEIC = "HEIC"
    VIDEO = "video"


_HEIF_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
_STILL_BRANDS = {b"avif", b"avis", b"jxl ", b"crx "}
_PNM_SIGNS = {b"P1", b"P2", b"P3", b"P4", b"P5", b"P6"}
_BMP_HEADER_BYTES = {12, 40, 52, 56, 64, 108, 124}
_SIGNS = (
    (b"\xff\xd8\xff", FileKind.JPEG),
    (b"\x89PNG\r\n\x1a\n", FileKind.PNG),
    (b"GIF87a", FileKind.GIF),
    (b"GIF89a", FileKind.GIF),
    (b"\x1a\x45\xdf\xa3", FileKind.VIDEO),  # Matroska, WebM
    (b"\x00\x00\x01\xba", FileKind.VIDEO),  # MPEG programme stream
)


def kind_of(head: bytes) -> FileKind | None:
    """The kind of a file that begins with `head` (HEAD_BYTES of it), or None."""
    for sign, kind in _SIGNS:
        if head.startswith(sign):
            return kind
    if head[:4] == b"RIFF":
        return {b"WEBP": FileKind.WEBP, b"AVI ": FileKind.VIDEO}.get(head[8:12])
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        if brand in _HEIF_BRANDS:
            return FileKind.HEIC
        return None if brand in _STILL_BRANDS else FileKind.VIDEO
    if head[:2] in _PNM_SIGNS and head[2:3].isspace():
        return FileKind.PNM
    # "BM" alone begins many a text; the size of the header that follows it is one of a few.
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADER_BYTES:
        return FileKind.BMP
    return None


def open_regular(path: Path) -> BinaryIO:
    """Opens a regular file that has bytes; a pipe or a device is refused, never waited for.

    Raises PictureError.
    """
    try:
        # Asked before opening, because opening some devices already does something.
        _require_regular(path, path.stat().st_mode)
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise PictureError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise PictureError(f"{path}: {error}") from error
    status = os.fstat(file.fileno())
    try:
        _require_regular(path, status.st_mode)
        if status.st_size == 0:
            raise PictureError(f"{path}: the file is empty", "copy it again from where it was")
    except PictureError:
        file.close()
        raise
    return file


def _require_regular(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise PictureError(f"{path}: is a folder", "a picture is a file")
    if not stat.S_ISREG(mode):
        raise PictureError(f"{path}: is not a regular file", "pipes and devices are not read")


def sniff(path: Path) -> FileKind | None:
    """The kind of the file at `path`; None for what cannot be read as well. Never raises."""
    try:
        with open_regular(path) as file:
            return kind_of(file.read(HEAD_BYTES))
    except (PictureError, OSError):
        return None
