"""Frames of cameras that send JPEGs: damaged ones are known before anything is decoded."""

from __future__ import annotations

import re

import cv2
import numpy as np

from edgefaced.types import U8

_BEGIN = b"\xff\xd8"
_SCAN, _END = 0xDA, 0xD9
_FRAMES = (0xC0, 0xC1, 0xC2)
"""Segments that state the picture's size: baseline, extended, progressive."""
_RESTARTS = range(0xD0, 0xD8)
_MARKER = re.compile(rb"\xff([^\x00\xff])", re.DOTALL)
"""In the data of a scan: an FF of the data itself is followed by 00. (With the one FF that comes
last before a marker a frame is searched in a twentieth of the time that "any FFs" takes.)"""

_HOW = {1: cv2.IMREAD_COLOR, 8: cv2.IMREAD_REDUCED_COLOR_8}


def decode(data: bytes, width: int, height: int, part: int = 1) -> U8 | None:
    """BGR pixels (height, width, 3) of a frame that `is_whole`; None where it is none after all.

    With `part` 8 the sides are an eighth, rounded up: a fifth to a half of the time.
    """
    decoded = cv2.imdecode(np.frombuffer(data, np.uint8), _HOW[part])
    if decoded is None or decoded.shape != (-(-height // part), -(-width // part), 3):
        return None
    pixels = np.asarray(decoded, np.uint8)
    pixels.flags.writeable = False  # as every camera's frames are
    return pixels


def is_whole(data: bytes, width: int, height: int) -> bool:
    """Whether a JPEG of this size begins, ends, and has nothing of another frame in its scan.

    Nothing is decoded for it. Decoders paint what is missing grey; a frame that lost a part on the
    wire is refused instead. So is one that states another size, before a decoder finds memory for
    it. Cameras pad behind the end, and leave out the tables that all Motion JPEG has in common.
    """
    begun = _scan(data)
    if begun is None or begun[1] != (width, height):
        return False
    for restarts, found in enumerate(_MARKER.finditer(data, begun[0])):
        marker = found[1][0]
        if marker == _END:
            return True
        if marker not in _RESTARTS or marker - _RESTARTS.start != restarts % len(_RESTARTS):
            return False  # the beginning of another frame, or a piece between restarts is gone
    return False


def _scan(data: bytes) -> tuple[int, tuple[int, int] | None] | None:
    """Where the scan's segment begins, and the width and height stated before it.

    Segments are skipped by their lengths; a second size contradicts the first, and is none.
    """
    if not data.startswith(_BEGIN):
        return None
    at = len(_BEGIN)
    sizes: list[tuple[int, int]] = []
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == _SCAN:
            return at + 2, sizes[0] if len(sizes) == 1 else None
        if marker in _FRAMES and at + 9 <= len(data):
            height, width = (int.from_bytes(data[at + k : at + k + 2], "big") for k in (5, 7))
            sizes.append((width, height))
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
