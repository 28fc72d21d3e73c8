"""Directions, cool-downs and working days, over midnight, restarts and daylight saving."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.attendance import (
    AttendanceRules,
    CheckIn,
    Mode,
    Moment,
    Punch,
    Sighting,
    WorkingDays,
    record_of,
    seconds_between,
)
from edgefaced.types import Direction

BERLIN = ZoneInfo("Europe/Berlin")
DAYS = WorkingDays(BERLIN)
IN, OUT = Direction.IN, Direction.OUT
START = datetime(2020, 1, 1, tzinfo=UTC)


def at(text: str, *, boot: str = "boot", zone: ZoneInfo = BERLIN, fold: int = 0) -> Moment:
    """A moment by local time; its monotonic clock started in 2026."""
    utc = datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).astimezone(UTC)
    seconds = (utc - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds()
    return Moment(utc, int(seconds * 1e9), boot)


def punch(direction: Direction, moment: Moment, person: str = "ann") -> Punch:
    return Punch("record", person, direction, moment, "device", "door", True)


def saw(moment: Moment) -> Sighting:
    return Sighting("decision", "ann", moment)


def rules(mode: Mode, **changes: object) -> AttendanceRules:
    values: dict[str, object] = {"days": DAYS, "cool_down": 300.0, **changes}
    return AttendanceRules(mode, **values)  # type: ignore[arg-type]  # values of several types


def directions(of: AttendanceRules, *moments: Moment) -> list[Direction | None]:
    """What becomes of one person's sightings, one after another."""
    last, found = None, []
    for moment in moments:
        record = record_of(of, saw(moment), last)
        found.append(None if record is None else record.direction)
        if record is not None:
            last = punch(record.direction, moment)
    return found


@pytest.mark.parametrize(("mode", "direction"), [(Mode.IN, IN), (Mode.OUT, OUT)])
def test_a_device_at_a_door_gives_its_own_direction(mode: Mode, direction: Direction) -> None:
    moment = at("2026-03-02 09:00")
    assert record_of(rules(mode), saw(moment), punch(direction, at("2026-03-01 09:00"))) == (
        CheckIn(saw(moment), direction, "device")
    )


def test_one_record_a_person_and_cool_down() -> None:
    begin = datetime(2026, 3, 2, 8, tzinfo=UTC)
    minute = [Moment(begin + timedelta(seconds=s), s * 10**9, "boot") for s in range(61)]
    for mode in (Mode.IN, Mode.OUT, Mode.ALTERNATING, Mode.SCHEDULE):
        assert sum(d is not None for d in directions(rules(mode), *minute)) == 1
    later = [Moment(begin, s * 10**9, "boot") for s in (0, 299, 300, 301, 600)]
    assert directions(rules(Mode.ALTERNATING), *later) == [IN, None, OUT, None, IN]


def test_the_cool_down_is_monotonic_within_a_boot_and_by_date_across() -> None:
    ten = at("2026-03-02 10:00")
    jumped = Moment(ten.utc + timedelta(hours=3), ten.monotonic_ns + 10**9, "boot")
    assert directions(rules(Mode.IN), ten, jumped) == [IN, None]
    restarted = Moment(ten.utc + timedelta(seconds=200), 5 * 10**9, "next boot")
    assert directions(rules(Mode.IN), ten, restarted) == [IN, None]
    past = Moment(datetime(1970, 1, 1, 0, 5, tzinfo=UTC), 5 * 10**9, "next boot")
    # Nobody knows how long the device was off: a record too many can be voided, none cannot.
    assert directions(rules(Mode.IN), ten, past) == [IN, IN]
    assert seconds_between(Moment(ten.utc, 1), Moment(ten.utc, 5)) == 0


def test_alternating_follows_a_working_day_and_a_night_shift() -> None:
    alternating = rules(Mode.ALTERNATING)
    day = ["2026-03-02 08:00", "2026-03-02 12:00", "2026-03-02 12:30", "2026-03-02 17:00"]
    assert directions(alternating, *map(at, day)) == [IN, OUT, IN, OUT]
    night = ["2026-03-02 22:00", "2026-03-03 06:00", "2026-03-03 22:00", "2026-03-04 06:05"]
    assert directions(alternating, *map(at, night)) == [IN, OUT, IN, OUT]


def test_a_forgotten_check_out_is_not_made_up_for_by_the_next_check_in() -> None:
    days = ["2026-03-02 08:00", "2026-03-03 08:00", "2026-03-03 17:00"]
    assert directions(rules(Mode.ALTERNATING), *map(at, days)) == [IN, IN, OUT]


def test_without_night_shifts_the_boundary_alone_counts() -> None:
    strict = rules(Mode.ALTERNATING, days=WorkingDays(BERLIN, time(4), 0.0))
    late = ["2026-03-02 22:00", "2026-03-03 03:59"]
    assert directions(strict, *map(at, late)) == [IN, OUT]
    assert directions(strict, at("2026-03-02 22:00"), at("2026-03-03 04:00")) == [IN, IN]


def test_order_holds_in_a_boot_whose_clock_was_never_set() -> None:
    nineteen_seventy = datetime(1970, 1, 1, tzinfo=UTC)
    moments = [
        at("2026-03-02 08:00"),
        *(
            Moment(nineteen_seventy + timedelta(hours=h), h * 3600 * 10**9, "no clock")
            for h in (1, 9)
        ),
    ]
    assert directions(rules(Mode.ALTERNATING), *moments) == [IN, IN, OUT]


def test_a_schedule_gives_the_direction_and_alternates_between() -> None:
    schedule = rules(Mode.SCHEDULE, in_until=time(11), out_from=time(15))
    assert directions(
        schedule,
        *map(at, ["2026-03-02 08:00", "2026-03-02 12:00", "2026-03-02 13:00", "2026-03-02 16:00"]),
    ) == [IN, OUT, IN, OUT]
    late = record_of(schedule, saw(at("2026-03-03 02:00")), None)
    assert late is not None
    assert (late.direction, late.source) == (OUT, "schedule")
    noon = record_of(schedule, saw(at("2026-03-03 12:00")), None)
    assert noon is not None
    assert (noon.direction, noon.source) == (IN, "alternating")
    assert directions(rules(Mode.SCHEDULE), at("2026-03-02 11:59"), at("2026-03-02 12:05")) == [
        IN,
        OUT,
    ]


def test_a_button_gives_the_direction_and_means_it() -> None:
    button = rules(Mode.BUTTON)
    moment = at("2026-03-02 08:00")
    assert record_of(button, saw(moment), None) is None
    assert record_of(button, saw(moment), None, OUT) == CheckIn(saw(moment), OUT, "button")
    shortly_before = punch(IN, at("2026-03-02 07:59"))
    assert record_of(button, saw(moment), shortly_before, IN) is None
    assert record_of(button, saw(moment), shortly_before, OUT) is not None


@pytest.mark.parametrize(
    ("moment", "day"),
    [
        (at("2026-03-02 03:59:59"), date(2026, 3, 1)),
        (at("2026-03-02 04:00"), date(2026, 3, 2)),
        (at("2026-03-02 23:59"), date(2026, 3, 2)),
        (at("2026-03-29 03:59"), date(2026, 3, 28)),  # the clock was put forward at 2
        (at("2026-03-29 04:00"), date(2026, 3, 29)),
        (at("2026-10-25 03:59"), date(2026, 10, 24)),  # the clock was put back at 3
        (at("2026-10-25 04:00"), date(2026, 10, 25)),
    ],
)
def test_a_working_day_begins_by_the_wall_clock(moment: Moment, day: date) -> None:
    assert DAYS.day_of(moment.utc) == day


def test_a_day_that_begins_in_a_repeated_or_a_missing_hour_begins_once() -> None:
    days = WorkingDays(BERLIN, time(2, 30))
    assert days.day_of(at("2026-10-25 02:29").utc) == date(2026, 10, 24)
    assert days.day_of(at("2026-10-25 02:30").utc) == date(2026, 10, 25)
    assert days.day_of(at("2026-10-25 02:10", fold=1).utc) == date(2026, 10, 25)
    assert days.day_of(at("2026-03-29 01:59").utc) == date(2026, 3, 28)
    assert days.day_of(at("2026-03-29 03:30").utc) == date(2026, 3, 29)


@given(
    st.integers(0, 10 * 365 * 86_400).map(lambda s: START + timedelta(seconds=s)),
    st.integers(0, 86_399),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
    st.times(),
)
def test_working_days_never_run_backwards(
    utc: datetime, later: int, zone: str, begin: time
) -> None:
    days = WorkingDays(ZoneInfo(zone), begin)
    after = utc + timedelta(seconds=later)
    assert timedelta(0) <= days.day_of(after) - days.day_of(utc) <= timedelta(days=2)
