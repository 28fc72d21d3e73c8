"""The file a gallery travels in."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from edgefaced.errors import (
    GalleryDamaged,
    GalleryTooNew,
    KeyWrong,
    Refused,
    StorageError,
    UsageError,
)
from edgefaced.gallery.exchange import open_file, seal_file
from edgefaced.gallery.export_file import read_export, write_export

PHRASE = "correct horse battery"
PAYLOAD = b'{"people": ["Annabella"]}'


@pytest.fixture(scope="module")
def sealed() -> bytes:
    return seal_file(PAYLOAD, PHRASE, log2_n=10)


def test_it_opens_with_the_passphrase_only(sealed: bytes) -> None:
    assert open_file(sealed, PHRASE, "backup") == PAYLOAD
    assert b"Annabella" not in sealed
    for wrong in ("", "correct horse batter", PHRASE.upper(), PHRASE + " "):
        with pytest.raises(KeyWrong, match="wrong passphrase for backup"):
            open_file(sealed, wrong, "backup")


def test_two_exports_share_nothing(sealed: bytes) -> None:
    again = seal_file(PAYLOAD, PHRASE, log2_n=10)
    assert again[13:45] != sealed[13:45], "salt and check"
    assert again[45:57] != sealed[45:57], "nonce"
    assert again[65:] != sealed[65:]


@pytest.mark.parametrize("passphrase", ["", "1234567"])
def test_a_short_passphrase_is_refused(passphrase: str) -> None:
    with pytest.raises(UsageError, match="8 characters"):
        seal_file(PAYLOAD, passphrase)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip", b"EFGALLRX" + bytes(100)])
def test_what_is_no_export(content: bytes) -> None:
    with pytest.raises(GalleryDamaged, match=r"not an exported gallery|cut off"):
        open_file(content, PHRASE, "backup")


def test_cut_off_anywhere(sealed: bytes) -> None:
    for length in (1, 7, 8, 12, 40, 64, 65, 66, len(sealed) - 1):
        with pytest.raises(GalleryDamaged, match=f"cut off: {length} bytes"):
            open_file(sealed[:length], PHRASE, "backup")
    with pytest.raises(GalleryDamaged):
        open_file(sealed + b"\0", PHRASE, "backup")


def test_a_newer_version(sealed: bytes) -> None:
    newer = sealed[:8] + struct.pack(">H", 2) + sealed[10:]
    with pytest.raises(GalleryTooNew, match=r"backup has version 2.*update edgefaced"):
        open_file(newer, PHRASE, "backup")


def test_altered_anywhere(sealed: bytes) -> None:
    for place in (45, 56, 65, len(sealed) - 1):
        altered = bytearray(sealed)
        altered[place] ^= 1
        with pytest.raises(GalleryDamaged, match="altered or damaged"):
            open_file(bytes(altered), PHRASE, "backup")


@pytest.mark.parametrize(("place", "value"), [(10, 40), (10, 0), (11, 255), (11, 0), (12, 255)])
def test_a_header_cannot_make_us_allocate(sealed: bytes, place: int, value: int) -> None:
    hostile = bytearray(sealed)
    hostile[place] = value
    with pytest.raises(GalleryDamaged, match="unreasonable key derivation"):
        open_file(bytes(hostile), PHRASE, "backup")


def test_files_are_written_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "gallery.export"
    write_export(path, b"one")
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Refused, match="exists already"):
        write_export(path, b"two")
    assert read_export(path) == b"one"
    write_export(path, b"two", overwrite=True)
    assert read_export(path) == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link, tmp_path):
        with pytest.raises(Refused, match="no regular file"):
            write_export(path, b"one", overwrite=True)
    assert pipe.is_fifo()


def test_places_that_do_not_do(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        write_export(tmp_path / "nowhere" / "file", b"one")
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(StorageError, match="cannot be read"):
            read_export(path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)  # a hole: it takes no room
    with pytest.raises(GalleryDamaged, match="larger than any"):
        read_export(path)
