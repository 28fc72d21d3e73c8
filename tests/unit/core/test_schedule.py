"""Weekly spans on the wall clock: midnight, holidays, and the days when clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.schedule import DAY_SECONDS, LocalTime, Schedule, Span, local_time

HOUR = 3600
MONDAY, FRIDAY, SATURDAY, SUNDAY = 0, 4, 5, 6
EPOCH = date(1970, 1, 1)
BERLIN = ZoneInfo("Europe/Berlin")


def wall(text: str) -> LocalTime:
    """What a clock shows that is not asked for its zone."""
    moment = local_time(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp(), 0)
    assert moment is not None
    return moment


def in_berlin(utc: str) -> LocalTime:
    moment = datetime.fromisoformat(utc).replace(tzinfo=UTC)
    offset = moment.astimezone(BERLIN).utcoffset()
    assert offset is not None
    when = local_time(moment.timestamp(), offset.total_seconds())
    assert when is not None
    return when


def day(text: str) -> int:
    return (date.fromisoformat(text) - EPOCH).days


OFFICE = Schedule("office", tuple(Span(d, 7 * HOUR, 11 * HOUR) for d in range(5)))
NIGHT = Schedule("night", tuple(Span(d, 22 * HOUR, 8 * HOUR) for d in range(5)))


@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.integers(0, DAY_SECONDS - 1))
def test_days_and_weekdays_are_the_calendars(calendar: date, second: int) -> None:
    number = (calendar - EPOCH).days
    when = local_time(number * DAY_SECONDS + second, 0)
    assert when == LocalTime(number, second)
    assert when.weekday == calendar.weekday()


@pytest.mark.parametrize(
    ("utc", "offset"),
    [(float("nan"), 0), (float("inf"), 0), (0, float("nan")), (0, 1e9), (float("-inf"), 0)],
)
def test_what_is_no_time_is_none(utc: float, offset: float) -> None:
    assert local_time(utc, offset) is None


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("2026-11-30 06:59:59", False),
        ("2026-11-30 07:00:00", True),
        ("2026-12-04 17:59:59", True),
        ("2026-12-04 18:00:00", False),
        ("2026-12-05 12:00:00", False),
    ],
)
def test_the_first_second_is_inside_and_the_last_outside(text: str, inside: bool) -> None:
    assert OFFICE.covers(wall(text), frozenset()) is inside


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("2026-11-30 05:59:59", False),  # the shift that began on Sunday does not exist
        ("2026-11-30 22:00:00", True),
        ("2026-12-01 05:59:59", True),
        ("2026-12-01 06:00:00", False),
        ("2026-12-05 05:00:00", True),  # Saturday morning is Friday's shift
        ("2026-12-05 22:30:00", False),
    ],
)
def test_a_night_shift_belongs_to_the_day_it_begins_on(text: str, inside: bool) -> None:
    assert NIGHT.covers(wall(text), frozenset()) is inside


def test_holidays_close_the_shifts_that_begin_on_them() -> None:
    christmas = frozenset({day("2026-12-25")})  # a Friday
    assert not OFFICE.covers(wall("2026-12-25 12:00"), christmas)
    assert NIGHT.covers(wall("2026-12-25 05:00"), christmas), "begun on Thursday"
    assert not NIGHT.covers(wall("2026-12-25 23:00"), christmas)
    assert not NIGHT.covers(wall("2026-12-26 05:00"), christmas)
    emergency = Schedule("emergency", OFFICE.spans, on_holidays=True)
    assert emergency.covers(wall("2026-12-25 12:00"), christmas)


def test_a_whole_week_has_no_gap_at_midnight() -> None:
    always = Schedule("always", tuple(Span(d, 0, DAY_SECONDS) for d in range(7)))
    for text in ("2026-11-29 23:59:59", "2026-11-30 00:00:00", "2026-12-31 23:59:59"):
        assert always.covers(wall(text), frozenset())


@pytest.mark.parametrize(
    ("utc", "inside"),
    [
        # 2026-03-29, a Sunday: 02:00 becomes 03:00 at 01:00 UTC.
        ("2026-03-29 00:59:59", False),
        ("2026-03-29 01:00:00", True),  # 03:00, inside 02:30 to 04:00
        ("2026-03-29 01:59:59", True),
        ("2026-03-29 02:00:00", False),
        # 2026-10-25: 03:00 becomes 02:00 again at 01:00 UTC, so 02:30 comes twice.
        ("2026-10-25 00:29:59", False),
        ("2026-10-25 00:30:00", True),  # 02:30 for the first time
        ("2026-10-25 01:00:00", False),  # 02:00 again, before 02:30
        ("2026-10-25 01:30:00", True),
        ("2026-10-25 02:59:59", True),
        ("2026-10-25 03:00:00", False),
    ],
)
def test_on_the_days_when_clocks_change_the_wall_clock_counts(utc: str, inside: bool) -> None:
    early = Schedule("early", (Span(SUNDAY, 5 * HOUR // 2, 3 * HOUR // 2),))
    assert early.covers(in_berlin(utc), frozenset()) is inside


def test_a_night_shift_over_a_change_of_clocks_ends_on_the_wall_clock() -> None:
    saturday_night = Schedule("night", (Span(SATURDAY, 22 * HOUR, 8 * HOUR),))
    for before, after in (
        ("2026-03-29 03:59:59", "2026-03-29 04:00:00"),  # 7 hours long
        ("2026-10-25 04:59:59", "2026-10-25 05:00:00"),  # 9 hours long
    ):
        assert saturday_night.covers(in_berlin(before), frozenset())
        assert not saturday_night.covers(in_berlin(after), frozenset())


@pytest.mark.parametrize(
    "numbers", [(7, 0, 1), (-1, 0, 1), (0, -1, 1), (0, DAY_SECONDS, 1), (0, 0, 0), (0, 0, 90_000)]
)
def test_what_is_no_span_is_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="no span"):
        Span(*numbers)


def test_a_span_of_another_weekday_does_not_count() -> None:
    friday = Schedule("friday", (Span(FRIDAY, 0, DAY_SECONDS),))
    assert not friday.covers(wall("2026-11-30 12:00"), frozenset())
    assert friday.covers(wall("2026-12-04 12:00"), frozenset())
    assert wall("2026-11-30 12:00").weekday == MONDAY
