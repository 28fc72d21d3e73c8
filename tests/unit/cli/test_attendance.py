"""`edgefaced attendance`: tables, periods, corrections and what is refused."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from attended import attended, write

from edgefaced.cli.main import run
from edgefaced.errors import LedgerMissing
from edgefaced.events import DirectionChosen
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.reading import Wanted, entries
from edgefaced.ledger.store import Ledger
from edgefaced.types import Direction, Embedding

Told = Callable[..., dict[str, Any]]
Said = Callable[..., str]

BERLIN = ZoneInfo("Europe/Berlin")
GONE = "0190b2c4-0000-7000-8000-000000000001"


def local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC)


@pytest.fixture
def ann(own_places: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A gallery of one person, whose name is a formula; her id."""
    monkeypatch.setenv("COLUMNS", "200")
    (own_places / "edgefaced.toml").write_text('[attendance]\ntime_zone = "Europe/Berlin"\n')
    state = own_places / "state"
    vector = np.eye(1, 32, dtype=np.float32)[0]
    with Gallery.open(state / "gallery.db", state / "gallery.key", create=True) as gallery:
        return gallery.enrol("=1+Ann; @x", [NewTemplate(Embedding(vector, "sface"))]).id


@pytest.fixture
def ledger_file(own_places: Path) -> Path:
    return own_places / "state" / "events.db"


@pytest.fixture
def march(ann: str, ledger_file: Path) -> None:
    """Days, nights, a forgotten check-out, daylight saving; somebody who was removed."""
    shifts = [
        (ann, "2026-03-02 08:00", "2026-03-02 16:30"),
        (ann, "2026-03-03 08:00", None),
        (ann, "2026-03-04 08:00", "2026-03-04 16:00"),
        (GONE, "2026-03-28 22:00", "2026-03-29 06:00"),
        (GONE, "2026-03-31 22:00", "2026-04-01 06:00"),
    ]
    events = []
    for person, came, went in shifts:
        events.append(attended(person, "in", local(came)))
        if went is not None:
            events.append(attended(person, "out", local(went)))
    write(ledger_file, events)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def act(*words: str, status: int = 0) -> str:
        assert run(["attendance", *words]) == status
        caught = capsys.readouterr()
        assert "Traceback" not in caught.err
        return caught.out if status == 0 else caught.err

    return act


@pytest.fixture
def told(said: Said) -> Told:
    def act(*words: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(said(*words, "--json"))
        assert document["ok"]
        return document

    return act


MARCH = ("--month", "2026-03")


@pytest.mark.usefixtures("march")
def test_hours_over_midnight_and_daylight_saving(told: Told, ann: str) -> None:
    found = told("summary", *MARCH)
    assert (found["from"], found["to"]) == ("2026-03-01", "2026-03-31")
    days = [(d["date"][8:], d["name"], d["seconds"] / 3600, d["missing"]) for d in found["days"]]
    name = "=1+Ann; @x"
    assert days == [
        ("02", name, 8.5, 0),
        ("03", name, 0, 1),
        ("04", name, 8.0, 0),
        ("28", None, 7.0, 0),  # the clocks were put forward that night
        ("31", None, 8.0, 0),  # the shift of March ends in April
    ]
    assert found["days"][3]["last_out"] == "2026-03-29T06:00:00+02:00"
    people = {p["person_id"]: (p["days"], p["seconds"] / 3600) for p in found["people"]}
    assert people == {ann: (3, 16.5), GONE: (2, 15.0)}
    assert told("summary", "--month", "2026-04")["days"] == []


@pytest.mark.usefixtures("march")
def test_periods_and_people(told: Told) -> None:
    def count(*words: str) -> int:
        return len(told("list", *words)["records"])

    assert count("--day", "2026-03-28") == 1
    assert count("--day", "2026-03-29") == 1
    assert count("--week", "2026-W10") == 5
    assert count(*MARCH) == 8
    assert count("--from", "2026-03-03", "--to", "2026-03-04") == 3
    assert count(*MARCH, "--person", GONE) == 3
    assert count(*MARCH, "--person", "=1+ann; @X") == 5


@pytest.mark.usefixtures("march")
def test_what_is_asked_wrongly(said: Said) -> None:
    assert "is no day" in said("list", "--day", "2026-02-30", status=2)
    assert "exclude each other" in said("summary", "--day", "today", *MARCH, status=2)
    assert "has no records" in said("list", "--person", "Zoe", status=1)


@pytest.mark.usefixtures("march")
def test_tables_for_a_person(said: Said) -> None:
    listed = said("list", *MARCH)
    assert "2026-03-29 06:00:00" in listed
    assert GONE in "".join(listed.split())
    summary = said("summary", *MARCH)
    assert "06:00:00 +1" in summary
    assert "1 × no check-out" in summary
    assert "16:30" in said("summary", *MARCH, "--per-person")
    assert said("list", "--day", "2026-03-15") == ""


@pytest.mark.usefixtures("march")
def test_a_table_for_a_spreadsheet(
    said: Said, told: Told, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "march.csv"
    assert told("export", str(file), *MARCH)["rows"] == 5
    assert file.stat().st_mode & 0o777 == 0o600
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    first, forgotten, night = rows[0], rows[1], rows[3]
    assert first == {
        "date": "2026-03-02",
        "name": "'=1+Ann; '@x",
        "person_id": first["person_id"],
        "in": "2026-03-02 08:00:00",
        "out": "2026-03-02 16:30:00",
        "hours": "8.5",
        "duration": "8:30",
        "state": "complete",
        "source": "device",
        "corrected": "no",
        "corrections": "",
        "clock_synchronised": "yes",
    }
    assert (forgotten["out"], forgotten["hours"], forgotten["state"]) == ("", "", "no check-out")
    assert (night["date"], night["name"], night["hours"]) == ("2026-03-28", GONE, "7.0")
    assert "exists already" in said("export", str(file), status=1)
    said("export", str(file), *MARCH, "--force", "--bom", "--separator", ";")
    text = file.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    german = list(csv.DictReader(io.StringIO(text.decode("utf-8-sig")), delimiter=";"))
    assert german[0]["hours"] == "8,5"
    everything = said("export", "-", "--separator", "tab")
    assert len(list(csv.reader(io.StringIO(everything), delimiter="\t"))) == 6
    for words in (["export", "-"], ["summary", "--csv"]):
        assert run(["attendance", *words, "--json"]) == 2
    capsys.readouterr()
    per_day = list(csv.DictReader(io.StringIO(said("summary", *MARCH, "--csv"))))
    assert [row["missing"] for row in per_day] == ["0", "1", "0", "0", "0"]
    per_person = said("summary", *MARCH, "--csv", "--per-person")
    assert [row["hours"] for row in csv.DictReader(io.StringIO(per_person))] == ["15.0", "16.5"]


@pytest.mark.usefixtures("march")
def test_records_are_put_right_and_nothing_is_edited(
    told: Told, said: Said, ledger_file: Path
) -> None:
    why = ("--reason", "forgot to check out", "--by", "HR, Zoë")
    with Ledger.open(ledger_file) as ledger:
        before = ledger.after(0)
    added = told("correct", "add", "=1+Ann; @x", "out", "2026-03-03 17:00", *why)["record"]
    assert (added["at"], added["source"]) == ("2026-03-03T17:00:00+01:00", "by hand")
    (first, *_) = told("list", "--day", "2026-03-02")["records"]
    changed = told("correct", "change", first["record_id"][:13], "--at", "2026-03-02 07:30", *why)
    assert changed["record"]["record_id"] == first["record_id"]
    assert changed["record"]["at"] == "2026-03-02T07:30:00+01:00"
    voided = told("correct", "void", added["record_id"], *why)["record"]
    assert voided["void"]
    assert "taken back" in said("correct", "void", added["record_id"], *why, status=1)
    days = told("summary", "--week", "2026-W10")["days"]
    assert [(d["seconds"] / 3600, d["missing"], d["corrected"]) for d in days] == [
        (9.0, 0, True),
        (0, 1, False),
        (8.0, 0, False),
    ]
    listed = said("list", "--week", "2026-W10")
    assert "changed by HR, Zoë: forgot to check out" in " ".join(listed.split())
    (row, *_) = csv.DictReader(io.StringIO(said("export", "-", "--week", "2026-W10")))
    assert (row["corrected"], row["corrections"]) == (
        "yes",
        "changed by HR, Zoë: forgot to check out",
    )
    with Ledger.open(ledger_file) as ledger:
        assert ledger.after(0)[: len(before)] == before


@pytest.mark.usefixtures("march")
def test_corrections_that_are_refused(said: Said) -> None:
    why = ("--reason", "x", "--by", "HR")
    for words, status, message in (
        (("add", "Nobody", "in", "2026-03-02 08:00", *why), 1, "is not enrolled"),
        (("add", GONE, "in", "2026-03-29 02:30", *why), 2, "skipped"),
        (("add", GONE, "in", "9999-01-01 08:00", *why), 2, "still to come"),
        (("add", GONE, "sideways", "2026-03-02 08:00", *why), 2, "sideways"),
        (("add", GONE, "in", "2026-03-02 08:00", "--reason", " ", "--by", "HR"), 2, "a reason"),
        (("add", GONE, "in", "2026-03-02 08:00", "--reason", "x"), 2, "--by"),
        (("void", "00000000-0000", *why), 1, "no record"),
        (("void", "abc", *why), 2, "too short"),
    ):
        assert message in said("correct", *words, status=status)


def test_where_nothing_was_ever_recorded(
    ann: str, said: Said, told: Told, ledger_file: Path
) -> None:
    assert told("list")["records"] == []
    assert told("summary")["people"] == []
    why = ("--reason", "x", "--by", "HR")
    said("correct", "void", "00000000", *why, status=LedgerMissing.exit_code)
    assert not ledger_file.exists()
    said("correct", "add", ann, "in", "2026-03-02 08:00", "--reason", "paper", "--by", "HR")
    assert len(told("list", *MARCH)["records"]) == 1


def test_a_gallery_that_cannot_be_read_leaves_ids(
    own_places: Path, ann: str, said: Said, ledger_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(ledger_file, [attended(ann, "in", local("2026-03-02 08:00"))])
    (own_places / "state" / "gallery.key").unlink()
    assert run(["attendance", "export", "-"]) == 0
    caught = capsys.readouterr()
    assert ann in caught.out
    assert "shown by their ids" in caught.err


def test_the_button_by_command(own_places: Path, said: Said, ledger_file: Path) -> None:
    said("press", "out")
    with Ledger.open(ledger_file) as ledger:
        (entry,) = entries(ledger, Wanted(kinds=("button",)))
    assert entry.record.event.happening == DirectionChosen(Direction.OUT)
    assert "sideways" in said("press", "sideways", status=2)


def test_an_entrance_and_an_exit_make_hours_together(
    ann: str,
    told: Told,
    said: Said,
    ledger_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    day, why = "2026-03-02", ("--reason", "the clock was wrong", "--by", "HR")
    left = [
        attended(ann, "out", local(f"{day} 16:00")),
        attended(ann, "out", local(f"{day} 17:00")),
        attended(GONE, "out", local(f"{day} 18:00")),
    ]
    write(ledger_file, left)
    (first, *_) = told("list", "--day", day, "--person", ann)["records"]
    said("correct", "change", first["record_id"], "--at", f"{day} 15:30", *why)
    (_, second) = told("list", "--day", day, "--person", ann)["records"]
    said("correct", "void", second["record_id"], *why)
    other = tmp_path / "exit.jsonl"
    assert run(["events", "export", str(other)]) == 0
    capsys.readouterr()
    ledger_file.unlink()
    for beside in ledger_file.parent.glob("events.*"):
        beside.unlink()
    write(ledger_file, [attended(ann, "in", local(f"{day} 08:00"))])
    assert told("summary", "--day", day)["people"][0]["missing"] == 1
    people = told("summary", "--day", day, "--also", str(other))["people"]
    assert [(p["person_id"], p["seconds"] / 3600, p["missing"]) for p in people] == [
        (GONE, 0, 1),
        (ann, 7.5, 0),
    ]
    alone = told("summary", "--day", day, "--also", str(other), "--person", GONE)["people"]
    assert [p["person_id"] for p in alone] == [GONE]
    assert len(told("list", "--day", day, "--also", str(other), "--person", ann)["records"]) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"no json",
        b'{"type": "attendance"}',
        b"[]",
        b'{"type": "attendance", "utc": 1}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_export_of_another_device(
    ann: str, said: Said, tmp_path: Path, content: bytes
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(content + b"\n")
    assert "other.jsonl" in said("list", "--also", str(other), status=2)


def test_a_zone_that_is_none(own_places: Path, said: Said) -> None:
    (own_places / "edgefaced.toml").write_text('[attendance]\ntime_zone = "Mars/Base"\n')
    assert "attendance.time_zone" in said("list", status=3)


def test_ten_thousand_records_are_exported(
    own_places: Path, ledger_file: Path, said: Said, tmp_path: Path
) -> None:
    start = datetime(2026, 1, 5, 7, tzinfo=UTC)
    events = [
        attended(f"person {n % 50}", direction, start + timedelta(days=n // 50, hours=hour))
        for n in range(5000)
        for direction, hour in (("in", 0), ("out", 8))
    ]
    write(ledger_file, events)
    said("export", str(tmp_path / "all.csv"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))
    assert len(rows) == 5000
    assert {row["hours"] for row in rows} == {"8.0"}


def test_the_night_in_which_the_clocks_are_put_back(
    told: Told, said: Said, ann: str, ledger_file: Path
) -> None:
    """It has an hour more, and the hour that it has twice is no time of nothing."""

    def twice(hour: int) -> datetime:
        """Half past two by the summer's clock (UTC 0), or by the winter's."""
        return datetime(2026, 10, 25, hour, 30, tzinfo=UTC)

    shift = [
        attended(ann, "in", local("2026-10-24 22:00")),
        attended(ann, "out", local("2026-10-25 06:00")),
    ]
    hour = [attended(GONE, "in", twice(0)), attended(GONE, "out", twice(1))]
    write(ledger_file, [shift[0], *hour, shift[1]])
    rows = list(csv.DictReader(io.StringIO(said("export", "-", "--month", "2026-10"))))
    by_person = {row["person_id"]: row for row in rows}
    night, same = by_person[ann], by_person[GONE]
    assert (night["date"], night["hours"], night["duration"]) == ("2026-10-24", "9.0", "9:00")
    assert (night["in"], night["out"]) == ("2026-10-24 22:00:00", "2026-10-25 06:00:00")
    assert (same["in"], same["out"]) == ("2026-10-25 02:30:00", "2026-10-25 02:30:00")
    # Before four in the morning it is still the working day of before.
    assert (same["date"], same["hours"], same["state"]) == ("2026-10-24", "1.0", "complete")
    days = told("summary", "--day", "2026-10-24")["days"]
    assert sorted(day["seconds"] / 3600 for day in days) == [1.0, 9.0]
