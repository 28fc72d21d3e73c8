"""Worked time: pairs, what is missing, night shifts and the days when clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from edgefaced.core.attendance import Correction, Moment, Punch, WorkingDays
from edgefaced.core.attendance_days import (
    Interval,
    IntervalState,
    by_day,
    by_person,
    intervals_of,
    within,
)
from edgefaced.types import CorrectionKind, Direction

BERLIN = ZoneInfo("Europe/Berlin")
DAYS = WorkingDays(BERLIN)
HOUR = 3600
COMPLETE, PRESENT = IntervalState.COMPLETE, IntervalState.PRESENT
OPEN, NO_CHECK_IN = IntervalState.OPEN, IntervalState.NO_CHECK_IN
LONG_AFTER = Moment(datetime(2027, 1, 1, tzinfo=UTC))


def local(text: str) -> Moment:
    return Moment(datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC))


def punches(*texts: str, person: str = "ann") -> list[Punch]:
    """Each "in 2026-03-02 08:00"."""
    found = []
    for text in texts:
        direction, when = text.split(" ", 1)
        found.append(Punch(text, person, Direction(direction), local(when), "device", "door", True))
    return found


def pairs(
    *texts: str, now: Moment = LONG_AFTER, days: WorkingDays = DAYS
) -> list[tuple[IntervalState, float | None]]:
    found = intervals_of(punches(*texts), days, now)
    return [(i.state, None if i.seconds is None else i.seconds / HOUR) for i in found]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        (["in 2026-03-02 08:00", "out 2026-03-02 12:00"], [(COMPLETE, 4.0)]),
        (["in 2026-03-02 08:00", "in 2026-03-03 08:00"], [(OPEN, None), (OPEN, None)]),
        (["out 2026-03-02 17:00"], [(NO_CHECK_IN, None)]),
        (
            ["in 2026-03-02 08:00", "out 2026-03-03 17:00"],
            [(OPEN, None), (NO_CHECK_IN, None)],
        ),
        (
            ["in 2026-03-02 08:00", "in 2026-03-02 09:00", "out 2026-03-02 10:00"],
            [(OPEN, None), (COMPLETE, 1.0)],
        ),
        (
            ["in 2026-03-02 08:00", "out 2026-03-02 09:00", "out 2026-03-02 10:00"],
            [(COMPLETE, 1.0), (NO_CHECK_IN, None)],
        ),
        # Over midnight, without and with a change of clocks: elapsed time counts.
        (["in 2026-03-02 22:00", "out 2026-03-03 06:00"], [(COMPLETE, 8.0)]),
        (["in 2026-03-28 22:00", "out 2026-03-29 06:00"], [(COMPLETE, 7.0)]),
        (["in 2026-10-24 22:00", "out 2026-10-25 06:00"], [(COMPLETE, 9.0)]),
        # A working day may be longer than any night shift.
        (["in 2026-03-02 06:00", "out 2026-03-02 23:00"], [(COMPLETE, 17.0)]),
    ],
)
def test_pairs(texts: list[str], expected: list[tuple[IntervalState, float | None]]) -> None:
    assert pairs(*texts) == expected


def test_who_may_still_check_out_is_present_and_nobody_longer() -> None:
    morning = "in 2026-03-02 08:00"
    assert pairs(morning, now=local("2026-03-02 16:00")) == [(PRESENT, None)]
    assert pairs(morning, now=local("2026-03-03 03:00")) == [(PRESENT, None)]
    assert pairs(morning, now=local("2026-03-03 05:00")) == [(OPEN, None)]


def test_a_night_shift_is_the_day_on_which_it_began() -> None:
    night = list(
        intervals_of(punches("in 2026-03-31 22:00", "out 2026-04-01 06:00"), DAYS, LONG_AFTER)
    )
    assert night[0].day == date(2026, 3, 31)
    early = WorkingDays(BERLIN, time(22, 30))
    assert pairs("in 2026-03-02 22:00", "out 2026-03-03 06:00", days=early) == [(COMPLETE, 8.0)]


def test_what_was_voided_counts_nowhere() -> None:
    records = punches("in 2026-03-02 08:00", "in 2026-03-02 08:10", "out 2026-03-02 12:00")
    void = Correction("v", CorrectionKind.VOID, "x", "ann", None, None, "twice", "HR")
    voided = Punch(*_fields(records[1]), corrections=(void,))
    found = list(intervals_of([records[0], voided, records[2]], DAYS, LONG_AFTER))
    assert [i.seconds for i in found] == [4 * HOUR]


def _fields(p: Punch) -> tuple[str, str, Direction, Moment, str, str, bool]:
    return p.record_id, p.person_id, p.direction, p.moment, p.source, p.place, p.synchronised


def test_dates_that_run_backwards_within_a_boot_give_no_time() -> None:
    came = Moment(datetime(2026, 3, 2, 8, tzinfo=UTC), 0, "boot")
    went = Moment(came.utc - timedelta(days=3), 4 * HOUR * 10**9, "boot")
    records = [
        Punch("a", "ann", Direction.IN, came, "device", "door", True),
        Punch("b", "ann", Direction.OUT, went, "device", "door", False),
    ]
    (interval,) = intervals_of(records, DAYS, LONG_AFTER)
    assert (interval.state, interval.seconds) == (COMPLETE, None)
    (total,) = by_person([interval])
    assert (total.seconds, total.synchronised) == (0, False)


def two_people() -> list[Interval]:
    ann = punches(
        *("in 2026-03-02 08:00", "out 2026-03-02 12:00", "in 2026-03-02 12:30"),
        *("out 2026-03-02 17:00", "in 2026-03-03 08:00"),
    )
    bob = punches("in 2026-03-02 22:00", "out 2026-03-03 06:00", "out 2026-03-03 09:00", person="b")
    now = local("2026-03-03 10:00")
    return [*intervals_of(ann, DAYS, now), *intervals_of(bob, DAYS, now)]


def test_days() -> None:
    days = by_day(two_people())
    assert [(d.day.day, d.total.person_id, d.total.seconds / HOUR) for d in days] == [
        (2, "ann", 8.5),
        (2, "b", 8.0),
        (3, "ann", 0.0),
        (3, "b", 0.0),
    ]
    monday = days[0].total
    assert (monday.first_in, monday.last_out) == (
        local("2026-03-02 08:00").utc,
        local("2026-03-02 17:00").utc,
    )
    assert [(d.total.present, d.total.missing) for d in days[2:]] == [(True, 0), (False, 1)]
    assert days[2].total.last_out is None
    assert days[3].total.first_in is None


def test_people() -> None:
    ann, bob = by_person(two_people())
    assert (ann.person_id, ann.days, ann.seconds / HOUR, ann.present) == ("ann", 2, 8.5, True)
    assert (bob.days, bob.missing, bob.corrected, bob.synchronised) == (2, 1, False, True)


def test_a_correction_shows_in_its_total() -> None:
    added = Correction(
        "a", CorrectionKind.ADD, "", "ann", Direction.IN, LONG_AFTER.utc, "forgot", "HR"
    )
    record = punches("in 2026-03-02 08:00")[0]
    corrected = Punch(*_fields(record), corrections=(added,))
    (total,) = by_person(list(intervals_of([corrected], DAYS, LONG_AFTER)))
    assert total.corrected


def test_a_period_has_both_its_days() -> None:
    assert len(within(two_people(), date(2026, 3, 2), date(2026, 3, 2))) == 3
    assert len(within(two_people(), date(2026, 3, 3), date(2026, 3, 9))) == 2
