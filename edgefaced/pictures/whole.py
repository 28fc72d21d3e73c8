"""Whether a picture file holds the whole picture: what decoders do not complain about.

A download that was laid out beforehand and stopped half-way ends in zeros. Decoders take those
for a picture that goes on in grey or black, so the file's own structure is asked first.
Uncompressed formats (BMP, PNM) cannot tell zeros from black.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO

BLOCK_BYTES = 1 << 20
ZEROS_BYTES = 256
"""Compressed data does not end in this many zeros."""


def jpeg_is_whole(file: BinaryIO) -> bool:
    """Whether the first picture of a JPEG file has its end marker."""
    file.seek(2)
    if not _skip_to_scan(file):
        return False
    # Behind the first scan FF D9 means nothing but the end: an FF of the data is followed by 00.
    last = b""
    while block := file.read(BLOCK_BYTES):
        if b"\xff\xd9" in last + block:
            return True
        last = block[-1:]
    return False


def _skip_to_scan(file: BinaryIO) -> bool:
    """Leaves the file behind the first start-of-scan marker (its thumbnails lie before it)."""
    while byte := file.read(1):
        if byte != b"\xff":
            continue  # stray bytes between segments are allowed
        while byte == b"\xff":
            byte = file.read(1)
        if byte == b"\xda":
            return True
        if byte == b"\xd9":
            return False
        if byte and byte[0] > 0x01 and not 0xD0 <= byte[0] <= 0xD8:  # has a length
            length = int.from_bytes(file.read(2), "big")
            file.seek(max(length - 2, 0), 1)
    return False


def png_is_whole(file: BinaryIO) -> bool:
    """Whether every chunk of a PNG file, up to its end chunk, has its checksum."""
    file.seek(8)
    while True:
        head = file.read(8)
        left, checksum = int.from_bytes(head[:4], "big"), zlib.crc32(head[4:])
        while left:
            block = file.read(min(left, BLOCK_BYTES))
            if not block:
                return False
            left -= len(block)
            checksum = zlib.crc32(block, checksum)
        if file.read(4) != checksum.to_bytes(4, "big"):
            return False
        if head[4:] == b"IEND":
            return True


def ends_in_data(file: BinaryIO) -> bool:
    """Whether a compressed file ends in something else than zeros."""
    size = file.seek(0, 2)
    file.seek(max(size - ZEROS_BYTES, 0))
    return any(file.read())
