"""Which files are meant by the paths on a command line."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from PIL import Image

from edgefaced.errors import PictureError
from edgefaced.pictures.files import FileKind, sniff
from edgefaced.pictures.find import find_pictures

NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "people"
    for name in ["b.jpg", "a.PNG", "sub/c.webp", ".hidden.jpg", ".git/d.jpg"]:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(path, "PNG")
    Image.new("RGB", (4, 4)).save(root / "no_suffix", "PNG")
    (root / "notes.txt").write_text("not a picture")
    (root / "empty.jpg").touch()
    (root / "film.mp4").touch()
    (root / "film.dat").write_bytes(b"\x00\x00\x00\x20ftypisom")
    return root


def test_folders_are_walked_in_order_of_names(folder: Path) -> None:
    found = [str(path.relative_to(folder)) for path in find_pictures([folder])]
    # What has a picture's name is there to be refused aloud, even when it is empty.
    assert found == ["a.PNG", "b.jpg", "empty.jpg", "no_suffix", "sub/c.webp"]


def test_videos_are_found_when_asked_for(folder: Path) -> None:
    found = {path.name for path in find_pictures([folder], videos=True)}
    assert found >= {"film.mp4", "film.dat", "a.PNG"}


def test_what_is_named_is_kept_as_it_is(folder: Path) -> None:
    named = [folder / ".hidden.jpg", folder / "notes.txt", Path("absent.jpg")]
    assert find_pictures([*named, folder / "b.jpg", folder])[:4] == [*named, folder / "b.jpg"]
    assert len(find_pictures([folder / "b.jpg", folder, folder])) == 5


def test_links_to_folders_inside_are_not_followed(folder: Path) -> None:
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    assert len(find_pictures([folder])) == 5


def test_a_pipe_in_a_folder_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert folder / "pipe" not in find_pictures([folder])


def test_a_folder_that_cannot_be_read_is_an_error() -> None:
    own = os.geteuid()
    with TemporaryDirectory() as name:  # pytest's own folders are closed to nobody
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "sub").mkdir(mode=0)
        try:
            if own == 0:  # root may read everything
                os.seteuid(NOBODY)
            with pytest.raises(PictureError, match="sub: Permission denied"):
                find_pictures([folder])
            unreachable = folder / "sub" / "c.webp"
            assert find_pictures([unreachable]) == [unreachable]
        finally:
            os.seteuid(own)


def test_a_name_that_no_file_can_have_is_kept_to_be_refused(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    assert find_pictures([path]) == [path]


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"RIFF\x00\x00\x00\x00AVI LIST", FileKind.VIDEO),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", None),
        (b"\x1a\x45\xdf\xa3\x01", FileKind.VIDEO),
        (b"\x00\x00\x01\xba\x44", FileKind.VIDEO),
        (b"\x00\x00\x00\x18ftypheic", FileKind.HEIC),
        (b"P6\n1 1", FileKind.PNM),
        (b"P6x", None),
        (b"%PDF-1.7", None),
    ],
)
def test_kinds_are_told_by_the_first_bytes(
    head: bytes, kind: FileKind | None, tmp_path: Path
) -> None:
    path = tmp_path / "thing"
    path.write_bytes(head)
    assert sniff(path) is kind
    assert sniff(tmp_path / "absent") is None
