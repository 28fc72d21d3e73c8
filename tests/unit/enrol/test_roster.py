"""Tables as offices write them: encodings, separators, headings, quotes, faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefaced.enrolment.photos import PhotoFolder
from edgefaced.enrolment.roster import (
    Entrant,
    Roster,
    RosterRow,
    checked_entrant,
    decoded,
    parse_roster,
    read_roster,
    twice_in,
)
from edgefaced.errors import PictureError, StorageError, UsageError
from edgefaced.gallery.records import Details

PLAIN = "name,external_id,groups,photo,consent\nZoë Müller,A-17,staff;night,zoe.jpg,on paper\n"
ZOE = RosterRow(2, "Zoë Müller", "A-17", "staff;night", "zoe.jpg", "on paper")


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode(),
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("cp1252"),
        PLAIN.encode("utf-16"),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace(",", "\t").encode(),
        PLAIN.replace("staff;night", "staff|night").replace(",", ";").encode(),
        b"sep=,\r\n" + PLAIN.encode(),
        ("\ufeff" + PLAIN.replace("name", ' "Name" ', 1).replace("external_id", "External ID"))
        .replace(' "Name" ', '"Name"')
        .encode(),
    ],
    ids=["utf-8", "bom", "cp1252", "utf-16", "crlf", "tabs", "semicolons", "sep", "headings"],
)
def test_one_table_in_many_forms(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    (row,) = read_roster(path).rows
    assert row.name == ZOE.name
    entrant = checked_entrant(row)
    assert entrant.details == Details("A-17", ("night", "staff"))
    assert (entrant.photos, entrant.consent) == (("zoe.jpg",), "on paper")


def parsed(text: str) -> Roster:
    return parse_roster(text, "people.csv")


def test_columns_in_any_order_and_others_are_ignored() -> None:
    roster = parsed("Room,Photos,NAME\n12,a.jpg; b.jpg,Ann\n")
    assert roster.ignored == ("room",)
    assert roster.rows == (RosterRow(2, "Ann", photo="a.jpg; b.jpg"),)
    assert checked_entrant(roster.rows[0]) == Entrant(2, "Ann", Details(), ("a.jpg", "b.jpg"), None)


def test_rows_know_their_line_and_one_that_is_broken_stops_no_other() -> None:
    roster = parsed('name,consent\nAnn,"two\nlines"\n\n"Bo"b,x\nCy,no,more\nDora\n')
    assert [(r.line, r.name, bool(r.fault)) for r in roster.rows] == [
        (2, "Ann", False),
        (5, "", True),
        (6, "Cy", True),
        (7, "Dora", False),
    ]
    assert roster.rows[0].consent == "two\nlines"
    for row in roster.rows[1:3]:
        with pytest.raises(UsageError):
            checked_entrant(row)


def test_a_quote_that_is_never_closed_says_what_it_swallowed() -> None:
    roster = parsed('name\nAnn\n"Bob\nCy\n')
    assert [r.line for r in roster.rows] == [2, 3]
    assert "up to line 4" in roster.rows[1].fault


@pytest.mark.parametrize("text", ["", "\n", "first,last\nAnn,Smith\n", "name,full name\nA,B\n"])
def test_what_is_no_table_of_people(text: str) -> None:
    with pytest.raises(UsageError):
        parsed(text)


def test_what_is_no_text(tmp_path: Path) -> None:
    for content in (b"\xff\xfe\x00", b"PK\x03\x04\x00\x00\x81", b"name\n\x81\xff"):
        with pytest.raises(UsageError, match="no text"):
            decoded(content, "x.csv")
    with pytest.raises(StorageError):
        read_roster(tmp_path / "absent.csv")
    huge = tmp_path / "huge.csv"
    with huge.open("wb") as file:
        file.truncate(33 * 2**20)
    with pytest.raises(UsageError, match="larger"):
        read_roster(huge)


@pytest.mark.parametrize(
    "row",
    [
        RosterRow(2, ""),
        RosterRow(2, "a\nb"),
        RosterRow(2, "Ann", groups="x" * 201),
        RosterRow(2, "Ann", external_id="\u202eA"),
        RosterRow(2, "Ann", consent="\x07"),
    ],
)
def test_what_cannot_be_kept(row: RosterRow) -> None:
    with pytest.raises(UsageError):
        checked_entrant(row)


def test_repetitions() -> None:
    rows = parsed("name,id\nAnn,1\nBob,2\nANN ,3\nCy,\nDora,\nEd,2\n").rows
    assert twice_in(rows) == {
        4: "the same name as in line 2",
        7: "the same external id as in line 3",
    }


@pytest.fixture
def photos(tmp_path: Path) -> PhotoFolder:
    folder = tmp_path / "photos"
    (folder / "Cy Young").mkdir(parents=True)
    (tmp_path / "secret.jpg").write_bytes(b"")
    (folder / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    for name in (
        *("ann_smith.jpg", "Ann Smith 2.png", "A-17.jpeg", "notes.txt", ".hidden.jpg"),
        *("Bob_0001.jpg", "bob (2).JPG", "Cy Young/1.jpg", "Cy Young/2.jpg", "Zoe\u0308.jpg"),
    ):
        (folder / name).write_bytes(b"")
    return PhotoFolder(folder)


def entrant(name: str, *named: str, external_id: str | None = None) -> Entrant:
    return Entrant(2, name, Details(external_id), named, None)


@pytest.mark.parametrize(
    ("who", "found"),
    [
        (entrant("Ann Smith"), ["ann_smith.jpg"]),
        (entrant("Ann Smith", external_id="a-17"), ["A-17.jpeg", "ann_smith.jpg"]),
        (entrant("Bob"), ["Bob_0001.jpg", "bob (2).JPG"]),
        (entrant("Cy Young"), ["1.jpg", "2.jpg"]),
        (entrant("Zo\u00eb"), ["Zoe\u0308.jpg"]),
        (entrant("Anybody", "A-17.jpeg", "Cy Young"), ["A-17.jpeg", "1.jpg", "2.jpg"]),
    ],
)
def test_photos_by_name(photos: PhotoFolder, who: Entrant, found: list[str]) -> None:
    assert [path.name for path in photos.pictures_of(who)] == found


@pytest.mark.parametrize(
    "who",
    [
        entrant("Nobody"),
        entrant("notes"),
        entrant("link"),
        entrant("..", external_id="../secret"),
        entrant("Ann", "absent.jpg"),
        entrant("Ann", "../secret.jpg"),
        entrant("Ann", "link.jpg"),
        entrant("Ann", "/etc/passwd"),
    ],
)
def test_no_photo_and_none_from_elsewhere(photos: PhotoFolder, who: Entrant) -> None:
    with pytest.raises(PictureError):
        photos.pictures_of(who)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        PhotoFolder(tmp_path / "absent")
