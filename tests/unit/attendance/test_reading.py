"""Periods, zones, corrections and what the book makes of a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from attended import attended

from edgefaced.attendance.correcting import (
    addition,
    change,
    moment_in,
    record_correction,
    record_named,
    voiding,
)
from edgefaced.attendance.elsewhere import read_elsewhere
from edgefaced.attendance.period import period_named
from edgefaced.attendance.reading import EVER, Period, read_book
from edgefaced.attendance.zone import zone_of
from edgefaced.errors import ConfigError, Refused, UsageError
from edgefaced.ledger.redaction import redact_person
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify
from edgefaced.types import Direction

BERLIN = ZoneInfo("Europe/Berlin")
TODAY = date(2026, 3, 4)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ({"day": "today"}, "2026-03-04", "2026-03-04"),
        ({"day": "yesterday"}, "2026-03-03", "2026-03-03"),
        ({"day": "2024-02-29"}, "2024-02-29", "2024-02-29"),
        ({"week": "this"}, "2026-03-02", "2026-03-08"),
        ({"week": "last"}, "2026-02-23", "2026-03-01"),
        ({"week": "2026-W53"}, "2026-12-28", "2027-01-03"),
        ({"month": "this"}, "2026-03-01", "2026-03-31"),
        ({"month": "last"}, "2026-02-01", "2026-02-28"),
        ({"month": "2026-12"}, "2026-12-01", "2026-12-31"),
        ({"first": "2026-03-01", "last": "today"}, "2026-03-01", "2026-03-04"),
        ({"first": "2026-03-01"}, "2026-03-01", "9999-12-31"),
        ({"last": "2026-03-01"}, "0001-01-01", "2026-03-01"),
    ],
)
def test_periods(asked: dict[str, str], first: str, last: str) -> None:
    period = period_named(TODAY, **asked)
    assert period == Period(date.fromisoformat(first), date.fromisoformat(last))
    assert period.since() < period.until()


@pytest.mark.parametrize(
    "asked",
    [
        {"day": "tomorrow"},
        {"day": "2026-02-30"},
        {"week": "2026-W54"},
        {"week": "10"},
        {"week": "9999-W52"},
        {"month": "2026-13"},
        {"month": "9999-12"},
        {"month": "March"},
        {"day": "today", "month": "this"},
        {"day": "today", "last": "today"},
        {"first": "today", "last": "yesterday"},
    ],
)
def test_what_is_no_period(asked: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        period_named(TODAY, **asked)


def test_no_period_at_all() -> None:
    assert period_named(TODAY) is None


def test_zones(tmp_path: Path) -> None:
    def offset(name: str | None, environment: dict[str, str], localtime: Path) -> timedelta | None:
        return datetime(2026, 7, 1, tzinfo=zone_of(name, environment, localtime)).utcoffset()

    absent = tmp_path / "absent"
    tokyo = tmp_path / "localtime"
    tokyo.symlink_to(next(Path(p) for p in _zone_files("Asia/Tokyo")))
    assert offset("Europe/Berlin", {"TZ": "UTC"}, tokyo) == timedelta(hours=2)
    assert offset(None, {"TZ": ":Asia/Kolkata"}, tokyo) == timedelta(hours=5, minutes=30)
    rule = "XST3:30XDT,M3.2.0,M11.1.0"
    assert offset(None, {"TZ": rule}, tokyo) == -timedelta(hours=2, minutes=30)
    assert offset(None, {"TZ": "<+07>-7"}, tokyo) == timedelta(hours=7)
    assert offset(None, {"TZ": str(tokyo)}, absent) == timedelta(hours=9)
    assert offset(None, {}, tokyo) == timedelta(hours=9)
    assert offset(None, {"TZ": ""}, absent) == timedelta(0)
    (tmp_path / "broken").write_text("no zone")
    for name in ("Mars", "../x", rule):
        with pytest.raises(ConfigError, match=r"attendance\.time_zone"):
            zone_of(name, {}, absent)
    for tz in ("Mars", "XST3:30XDT,M13.2.0,M11.1.0", "UTC0\nUTC0", "é3"):
        with pytest.raises(ConfigError, match=r"^TZ is "):
            zone_of(None, {"TZ": tz}, absent)
    with pytest.raises(ConfigError):
        zone_of(None, {}, tmp_path / "broken")


def _zone_files(name: str) -> Iterator[str]:
    for folder in ("/usr/share/zoneinfo", "/usr/lib/zoneinfo"):
        if (Path(folder) / name).exists():
            yield f"{folder}/{name}"
    pytest.skip("this machine has no files of time zones")


def test_times_as_people_write_them() -> None:
    now = datetime(2027, 1, 1, tzinfo=UTC)
    assert moment_in("2026-03-02 13:00", BERLIN, now) == NOON
    assert moment_in("2026-03-02T13:00:00+01:00", BERLIN, now) == NOON
    twice = moment_in("2026-10-25T02:30+01:00", BERLIN, now)
    assert twice == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    for wrong, said in (
        ("noon", "no time"),
        ("2026-03-02", "without a time"),
        ("2026-03-29 02:30", "skipped"),
        ("2026-10-25 02:30", "twice"),
        ("2027-01-02 12:00", "still to come"),
        ("0001-01-01 00:00", "no time"),
        ("0001-01-01 00:00+23:00", "no time"),
    ):
        with pytest.raises(UsageError, match=said):
            moment_in(wrong, BERLIN, now)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "events.db", create=True) as opened:
        yield opened


def hours(count: float) -> datetime:
    return NOON + timedelta(hours=count)


def test_corrections_are_checked_and_recorded(ledger: Ledger) -> None:
    came = attended("ann", "in", NOON)
    ledger.append([came])
    book = read_book(ledger)
    punch = record_named(book, came.id[:8])
    event = change(punch, Direction.OUT, hours(-1), "the wrong  door\n", " HR ")
    record_correction(ledger, book, event)
    added = addition("bob", Direction.IN, NOON, "forgot", "HR")
    record_correction(ledger, book, added)
    again = read_book(ledger)
    changed = record_named(again, came.id)
    assert (changed.direction, changed.moment.utc) == (Direction.OUT, hours(-1))
    assert (changed.corrections[0].reason, changed.corrections[0].by) == ("the wrong door", "HR")
    assert record_named(again, added.id).person_id == "bob"
    with pytest.raises(Refused, match="says already"):
        change(changed, Direction.OUT, hours(-1), "again", "HR")
    record_correction(ledger, again, voiding(changed, "a mistake", "HR"))
    voided = record_named(read_book(ledger), came.id)
    with pytest.raises(Refused, match="taken back"):
        voiding(voided, "x", "HR")
    with pytest.raises(Refused, match="taken back"):
        change(voided, None, NOON, "x", "HR")
    # Nothing was edited: the record is what it was.
    assert ledger.after(0)[0].event == came


@pytest.mark.parametrize(
    ("reason", "by"), [("", "HR"), (" \n", "HR"), ("x", ""), ("x\x07", "HR"), ("x" * 2001, "HR")]
)
def test_a_correction_needs_a_reason_and_a_name(reason: str, by: str) -> None:
    with pytest.raises(UsageError):
        addition("ann", Direction.IN, NOON, reason, by)


def test_records_by_their_ids(ledger: Ledger) -> None:
    ledger.append([attended("ann", "in", hours(h)) for h in range(3)])
    book = read_book(ledger)
    for name, kind in (("abc", UsageError), ("00000000", Refused)):
        with pytest.raises(kind):
            record_named(book, name)
    adds = [addition("ann", Direction.IN, NOON, "x", "HR") for _ in range(2)]
    for event in adds:
        record_correction(ledger, book, event)
    with pytest.raises(Refused, match="several"):
        record_named(book, adds[0].id[:8])


def test_a_period_has_what_belongs_to_it_and_what_was_moved_into_it(ledger: Ledger) -> None:
    lost = attended("ann", "in", datetime(1970, 1, 1, tzinfo=UTC), synchronised=False)
    far = attended("bob", "in", hours(-10 * 24))
    here = attended("ann", "out", hours(8))
    ledger.append([lost, far, here])
    book = read_book(ledger)
    record_correction(ledger, book, change(record_named(book, lost.id), None, NOON, "boot", "HR"))
    record_correction(ledger, book, voiding(record_named(book, far.id), "x", "HR"))
    period = Period(date(2026, 3, 2), date(2026, 3, 2))
    assert [p.record_id for p in read_book(ledger, period).punches()] == [lost.id, here.id]
    assert [p.record_id for p in read_book(ledger, period, "bob").punches()] == []
    assert [p.record_id for p in read_book(ledger, EVER, "bob").punches()] == [far.id]
    assert len(list(read_book(ledger).punches())) == 3


def test_dates_of_a_boot_without_a_clock_are_reckoned_back(ledger: Ledger) -> None:
    early = attended("ann", "in", NOON, synchronised=False)
    ledger.append([early])
    (punch,) = read_book(ledger).punches()
    assert (punch.moment.utc, punch.synchronised) == (NOON, False)
    # The clock is set, to another time: the boot's first right moment dates what came before.
    late = attended("ann", "out", hours(1))
    ledger.append([replace(late, utc=late.utc + timedelta(days=100))])
    came, went = read_book(ledger).punches()
    assert came.moment.utc == NOON + timedelta(days=100)
    assert (went.moment.utc - came.moment.utc, came.synchronised) == (timedelta(hours=1), True)


def test_whoever_is_forgotten_is_forgotten_here_as_well(ledger: Ledger) -> None:
    ledger.append([attended("ann", "in", NOON), attended("bob", "in", NOON)])
    record_correction(
        ledger, read_book(ledger), addition("ann", Direction.OUT, hours(1), "forgot", "HR")
    )
    redact_person(ledger, "ann", "door")
    assert read_book(ledger).people() == ("bob",)
    assert not verify(ledger).faults


CORRECTION = (
    '{"type": "correction", "event_id": "e", "correction": "add", "of_record": null, "id": "ann",'
    ' "direction": "in", "at": AT, "reason": "r", "by": "b"}'
)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "3",
        "[" * 100_000,
        '{"type": "attendance"}',
        CORRECTION.replace("AT", "1e300"),
        CORRECTION.replace("AT", "NaN"),
        CORRECTION.replace("AT", "Infinity"),
        CORRECTION.replace("AT", "9" * 400),
        CORRECTION.replace("AT", '"noon"'),
        CORRECTION.replace("AT", "253402300799"),
        " " * (1 << 20),
    ],
)
def test_a_file_of_another_device_that_is_none_is_named_with_its_line(
    tmp_path: Path, line: str
) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text('{"type": "door"}\n' + CORRECTION.replace("AT", "1772000000.5") + "\n")
    (punch,) = read_elsewhere(file).punches()
    assert punch.moment.utc == datetime.fromtimestamp(1772000000.5, UTC)
    with file.open("a") as more:
        more.write(line)
    with pytest.raises(UsageError, match="line 3 is no event"):
        read_elsewhere(file)
