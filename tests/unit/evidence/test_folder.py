"""Files of kept pictures: whole or not at all, overwritten before they go."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefaced.errors import StorageError
from edgefaced.evidence import folder
from edgefaced.evidence.folder import Kept, kept_in
from edgefaced.evidence.limits import DAY_US, Limits, due

ANN, BOB = "0190b2c4-0000-7000-8000-00000000000a", "0190b2c4-0000-7000-8000-00000000000b"


def kept(
    number: int, person: str | None = None, *, taken_us: int | None = 1, size: int = 3
) -> Kept:
    return Kept(number, taken_us, f"event-{number}", person, size)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "pictures"


def keep(place: Path, *some: Kept) -> None:
    with folder.alone_in(place):
        for one in some:
            folder.write(place, one, b"abc")


def test_what_was_kept_is_found_in_its_order(place: Path) -> None:
    some = [kept(2, ANN), kept(10), kept(1, BOB, taken_us=None)]
    assert kept_in(place) == []
    keep(place, *some)
    assert kept_in(place) == [some[2], some[0], some[1]]
    assert folder.read(place, some[0]) == b"abc"
    assert place.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in place.iterdir()} == {0o600}


def test_other_files_are_let_be(place: Path) -> None:
    keep(place, kept(1))
    (place / "notes.txt").write_text("mine")
    assert len(kept_in(place)) == 1
    assert folder.forget(place, ["nobody"]) == 0
    assert (place / "notes.txt").exists()


@pytest.mark.parametrize("person", ["../../x", "a/b", "", "ü", "x" * 65, "a.b"])
def test_an_id_that_is_no_part_of_a_name_makes_no_file(place: Path, person: str) -> None:
    if person:
        with pytest.raises(StorageError, match="cannot be kept"):
            keep(place, kept(1, person))
    with pytest.raises(StorageError, match="cannot be kept"):
        keep(place, Kept(1, 1, person, None))
    assert not list(place.iterdir())


def test_forgetting_people_takes_theirs_and_overwrites_them(place: Path) -> None:
    keep(place, *(kept(n, ANN if n % 2 else BOB) for n in range(1, 131)), kept(131))
    first = next(place.glob(f"*.{ANN}.sealed"))
    other = place.parent / "another-name"
    other.hardlink_to(first)
    assert folder.forget(place, [ANN]) == 65
    assert other.read_bytes() == b"\0\0\0", "the bytes are gone, not only the name"
    assert {one.person_id for one in kept_in(place)} == {BOB, None}
    assert folder.forget(place, [ANN]) == 0
    assert folder.forget(place.parent / "absent", [ANN]) == 0
    assert not (place.parent / "absent").exists()


def test_what_a_killed_process_left_is_swept(place: Path) -> None:
    keep(place, kept(1))
    draft = place / f"{folder.DRAFT}0123"
    draft.write_bytes(b"half a picture")
    assert kept_in(place) == [kept(1)]
    assert folder.forget(place, [ANN]) == 0
    assert not draft.exists()


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "pictures").write_text("a file")
    with pytest.raises(StorageError, match="pictures"):
        keep(tmp_path / "pictures", kept(1))
    with pytest.raises(StorageError, match="pictures"):
        kept_in(tmp_path / "pictures")
    with pytest.raises(StorageError, match=r"event-1\."):
        folder.read(tmp_path, kept(1))


LIMITS = Limits(days=7, pictures=4, maximum_bytes=1000)
NOW = 100 * DAY_US


def dated(*days_ago: float | None) -> list[Kept]:
    return [
        kept(n, taken_us=None if ago is None else NOW - round(ago * DAY_US))
        for n, ago in enumerate(days_ago)
    ]


def test_the_oldest_of_too_many_go() -> None:
    assert due(dated(5, 4, 3, 2), LIMITS, NOW) == []
    assert [one.number for one in due(dated(6, 5, 4, 3, 2, 1), LIMITS, NOW)] == [0, 1]


def test_the_oldest_of_too_large_ones_go() -> None:
    large = [kept(n, size=400) for n in range(4)]
    assert [one.number for one in due(large, LIMITS, None)] == [0, 1]
    assert due([kept(1, size=2000)], LIMITS, None) == [kept(1, size=2000)]


def test_the_too_old_go_and_those_before_them() -> None:
    assert [one.number for one in due(dated(9, 8, 6), LIMITS, NOW)] == [0, 1]
    # Taken in 1970, as far as anybody knew: no younger than what came after it.
    assert [one.number for one in due(dated(None, 8, None), LIMITS, NOW)] == [0, 1]
    assert due(dated(None, 6), LIMITS, NOW) == []
    assert due(dated(900), LIMITS, None) == [], "by a clock that is not right nothing is old"
