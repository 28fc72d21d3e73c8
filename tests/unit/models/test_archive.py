"""Reading archives: whatever they hold, one regular file after the other and no more than that."""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from archives import tarred, zipped

from edgefaced.errors import ModelDamaged
from edgefaced.models import archive
from edgefaced.models.archive import LARGEST_HEADER_BYTES, is_archive, members
from edgefaced.models.catalogue import find_pack
from edgefaced.models.fetch.sources import keep_if_pinned

FILES = {"pack/a.onnx": b"a" * 700_000, "pack/sub/b.txt": b"", "c": b"last"}


def contents(path: Path) -> dict[str, bytes]:
    return {member.name: b"".join(member.chunks()) for member in members(path)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "an archive"


@pytest.mark.parametrize(
    "data",
    [zipped(FILES), *(tarred(FILES, mode) for mode in ("w:", "w:gz", "w:bz2", "w:xz"))],
    ids=["zip", "tar", "gz", "bz2", "xz"],
)
def test_members_come_with_their_bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    assert is_archive(path)
    assert contents(path) == FILES


@pytest.mark.parametrize(
    "data", [zipped(FILES), tarred(FILES), tarred(FILES, "w:")], ids=["zip", "gz", "tar"]
)
def test_members_may_be_passed_over_unread(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    assert [member.name for member in members(path)] == list(FILES)


def test_links_devices_and_folders_are_no_files(path: Path) -> None:
    with tarfile.open(path, "w") as packed:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo(f"odd-{kind!r}")
            info.type, info.linkname = kind, "/etc/passwd"
            packed.addfile(info)
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        packed.addfile(folder)
    assert contents(path) == {}


def test_a_link_in_a_zip_is_no_file(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        link = zipfile.ZipInfo("link.onnx")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
        packed.writestr("folder/", b"")
    assert contents(path) == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not an archive at all",
        b"PK\x03\x04 no more",
        zipped(FILES)[:-30],
        tarred(FILES, "w:")[:600_000],
        tarred(FILES)[:200],
        tarred(FILES, "w:bz2")[:100],
        tarred(FILES, "w:xz")[:100],
        b"\x1f\x8b not gzip",
        gzip.compress(b"not a tar file" * 100),
        lzma.compress(b"not a tar file" * 100),
    ],
)
def test_what_is_no_whole_archive_is_damaged(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(ModelDamaged, match="an archive"):
        contents(path)


def test_a_rotten_member_is_damaged(path: Path) -> None:
    data = bytearray(zipped({"a": bytes(range(256)) * 50}))
    data[60] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ModelDamaged):
        contents(path)


def test_an_encrypted_member_is_damaged(path: Path) -> None:
    data = bytearray(zipped({"a": b"secret"}))
    data[6] |= 1  # the flag in the member's own header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    path.write_bytes(data)
    with pytest.raises(ModelDamaged, match="encrypted"):
        contents(path)


def test_a_header_that_asks_for_memory_is_refused(path: Path) -> None:
    """A pax header is read into memory by its size; packed zeros make gigabytes cheap."""
    size = 100 * LARGEST_HEADER_BYTES
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, size
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb") as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(100):
            file.write(bytes(LARGEST_HEADER_BYTES))
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelDamaged, match="header of"):
        contents(path)


def test_an_archive_of_endless_members_is_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_MEMBERS", 20)
    path.write_bytes(tarred({str(n): b"" for n in range(30)}))
    with pytest.raises(ModelDamaged, match="more than 20 members"):
        contents(path)


def test_an_archive_that_unpacks_without_end_is_left(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "LARGEST_UNPACKED_BYTES", 1_000_000)
    path.write_bytes(tarred({"zeros": bytes(2_000_000), "after": b""}))
    with pytest.raises(ModelDamaged, match="unpacks to more"):
        [member.name for member in members(path)]


def test_a_member_that_unpacks_to_more_than_is_pinned_is_cut_off(
    path: Path, tmp_path: Path
) -> None:
    picture = find_pack("reference").proof[0]
    path.write_bytes(zipped({"bomb": bytes(50_000_000)}))
    target = tmp_path / "target"
    read = 0
    for member in members(path):

        def counted() -> object:
            nonlocal read
            for chunk in member.chunks():  # noqa: B023 - used before the next member
                read += len(chunk)
                yield chunk

        with pytest.raises(ModelDamaged, match="pinned size"):
            keep_if_pinned(counted(), picture, target, "bomb")  # type: ignore[arg-type] # a generator
    assert read < 1_000_000
    assert list(tmp_path.iterdir()) == [path]
