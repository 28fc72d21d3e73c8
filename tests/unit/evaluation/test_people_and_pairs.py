"""Folders of people and LFW's pair lists, right and wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefaced.errors import PictureError, UsageError
from edgefaced.evaluation.pairs import read_pairs
from edgefaced.evaluation.people import read_people

HEADER = "2\t1"
BODY = ["Ann\t1\t2", "Ann\t1\tBob B\t1", "Bob B\t1\t2", "Bob B\t2\tAnn\t2"]


def add(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\xff\xd8\xff\xe0 as far as a name is concerned")


@pytest.fixture
def lfw(tmp_path: Path) -> Path:
    for name in ("Ann", "Bob B"):
        add(tmp_path / "images", *(f"{name}/{name}_000{n}.jpg" for n in (1, 2, 3)))
    write(tmp_path, HEADER, *BODY)
    return tmp_path


def write(folder: Path, *lines: str, end: str = "\n") -> None:
    (folder / "pairs.txt").write_text("\n".join(lines) + end, encoding="utf-8")


def test_people_are_sub_folders(tmp_path: Path) -> None:
    add(tmp_path, "zoe/1.jpg", "ann/b.png", "ann/deeper/a.jpg", ".hidden/1.jpg", "loose.jpg")
    (tmp_path / "empty").mkdir()
    pictures = read_people(tmp_path)
    assert pictures.names == ("ann", "zoe")
    assert pictures.owners == (0, 0, 1)
    assert [p.name for p in pictures.paths] == ["b.png", "a.jpg", "1.jpg"]


def test_people_may_lie_in_images(lfw: Path) -> None:
    pictures = read_people(lfw)
    assert pictures.names == ("Ann", "Bob B")
    assert len(pictures.paths) == 6


def test_no_folder_and_no_people_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        read_people(tmp_path / "absent")
    add(tmp_path, "ann/1.jpg")
    with pytest.raises(UsageError, match="has 1 sub-folders"):
        read_people(tmp_path)


def test_pairs_name_their_pictures(lfw: Path) -> None:
    listed = read_pairs(lfw)
    names = [path.name for path in listed.pictures.paths]
    assert names == ["Ann_0001.jpg", "Ann_0002.jpg", "Bob B_0001.jpg", "Bob B_0002.jpg"]
    assert listed.pictures.names == ("Ann", "Bob B")
    assert listed.pictures.owners == (0, 0, 1, 1)
    pairs = [(names[p.first], names[p.second], p.same, p.fold) for p in listed.pairs]
    assert pairs == [
        ("Ann_0001.jpg", "Ann_0002.jpg", True, 0),
        ("Ann_0001.jpg", "Bob B_0001.jpg", False, 0),
        ("Bob B_0001.jpg", "Bob B_0002.jpg", True, 1),
        ("Bob B_0002.jpg", "Ann_0002.jpg", False, 1),
    ]


def test_pictures_may_lie_beside_pairs_and_blank_lines_may_follow(lfw: Path) -> None:
    for folder in (lfw / "images").iterdir():
        folder.rename(lfw / folder.name)
    write(lfw, HEADER, *BODY, end="\n\n  \n")
    assert len(read_pairs(lfw).pairs) == 4


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([], "line 1: ''"),
        (["ten 300"], "line 1: 'ten 300'"),
        (["0 300"], "line 1: '0 300'"),
        (["500"], "line 1: '500'"),
        (["1 2", *BODY], "line 1: 1 folds"),
        ([HEADER, *BODY[:3]], "3 pairs after the first line"),
        ([HEADER, BODY[1], *BODY[1:]], "line 2: 'Ann"),
        ([HEADER, BODY[0], "Ann\t1\tBob B\ttwo", *BODY[2:]], "line 3: 'Ann"),
        ([HEADER, BODY[0], "Ann\t1\t../../x\t1", *BODY[2:]], "line 3: 'Ann"),
        ([HEADER, BODY[0], "Ann\t1\t\t1", *BODY[2:]], "line 3: 'Ann"),
        ([HEADER, "..\t1\t2", *BODY[1:]], "line 2: '..'"),
    ],
)
def test_wrong_lines_are_named(lfw: Path, lines: list[str], fault: str) -> None:
    write(lfw, *lines)
    with pytest.raises(UsageError) as caught:
        read_pairs(lfw)
    shown = str(caught.value).replace("\\t", "\t")
    assert fault in shown.replace("'..\t1\t2'", "'..'")


def test_absent_or_unreadable_list_is_refused(lfw: Path, tmp_path: Path) -> None:
    (lfw / "pairs.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="text file"):
        read_pairs(lfw)
    (lfw / "pairs.txt").unlink()
    with pytest.raises(UsageError, match=r"has no pairs\.txt"):
        read_pairs(lfw)
    with pytest.raises(UsageError, match="is not a folder"):
        read_pairs(tmp_path / "absent")


def test_missing_pictures_are_counted_and_one_is_named(lfw: Path) -> None:
    (lfw / "images/Ann/Ann_0002.jpg").unlink()
    (lfw / "images/Bob B/Bob B_0001.jpg").unlink()
    with pytest.raises(PictureError, match=r"2 of 4 pictures .* are missing: .*Ann_0002\.jpg"):
        read_pairs(lfw)
