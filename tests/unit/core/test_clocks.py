"""Dates of a boot that began in 1970 are reckoned back from a moment when the clock was right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from edgefaced.core.clocks import ClockMark, dated, local_time

EPOCH = datetime(1970, 1, 1, 0, 0, 12, tzinfo=UTC)
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
MARK = ClockMark(monotonic_ns=100_000_000_000, utc=NOON, utc_offset_seconds=7200)


def test_a_time_of_a_right_clock_stays() -> None:
    found = dated(NOON, 3600, monotonic_ns=5, synchronised=True, mark=MARK)
    assert (found.utc, found.utc_offset_seconds) == (NOON, 3600)
    assert found.certain
    assert not found.repaired


def test_what_came_before_the_mark_is_reckoned_back_with_its_offset() -> None:
    found = dated(EPOCH, 0, monotonic_ns=40_000_000_000, synchronised=False, mark=MARK)
    assert found.utc == NOON - timedelta(seconds=60)
    assert found.utc_offset_seconds == 7200
    assert found.repaired
    assert found.certain
    assert found.local.isoformat() == "2026-06-01T13:59:00+02:00"


def test_what_came_after_the_mark_keeps_its_time_and_its_doubt() -> None:
    found = dated(NOON, 0, monotonic_ns=100_000_000_001, synchronised=False, mark=MARK)
    assert found.utc == NOON
    assert not found.repaired
    assert not found.certain


def test_without_a_mark_nobody_knows() -> None:
    found = dated(EPOCH, 0, monotonic_ns=1, synchronised=False, mark=None)
    assert found.utc == EPOCH
    assert not found.certain


def test_the_hour_that_an_autumn_night_has_twice_is_told_apart() -> None:
    first = local_time(datetime(2026, 10, 25, 0, 30, tzinfo=UTC), 7200)
    second = local_time(datetime(2026, 10, 25, 1, 30, tzinfo=UTC), 3600)
    assert first.isoformat() == "2026-10-25T02:30:00+02:00"
    assert second.isoformat() == "2026-10-25T02:30:00+01:00"
    assert second - first == timedelta(hours=1)
