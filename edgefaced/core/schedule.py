"""When: weekly spans of local time, holidays, first and last days. Arithmetic on seconds and days.

Days are counted from 1970-01-01, a Thursday. Local time is what a clock on the wall shows: on the
days when clocks change, a span is as long as that clock makes it.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass

DAY_SECONDS = 86_400
LONGEST_OFFSET_SECONDS = 26 * 3600


@dataclass(frozen=True, slots=True)
class LocalTime:
    """A moment as a clock on the wall shows it."""

    day: int
    second: int

    @property
    def weekday(self) -> int:
        """0 on Mondays."""
        return (self.day + 3) % 7


def local_time(utc_seconds: float, utc_offset_seconds: float) -> LocalTime | None:
    """The local time at an offset from UTC; None where one of the numbers is none."""
    if not (math.isfinite(utc_seconds) and abs(utc_offset_seconds) <= LONGEST_OFFSET_SECONDS):
        return None
    day, second = divmod(math.floor(utc_seconds + utc_offset_seconds), DAY_SECONDS)
    return LocalTime(day, second)


@dataclass(frozen=True, slots=True)
class Span:
    """From a second of a weekday on, for at most a day; it may run past midnight."""

    weekday: int
    start_second: int
    length_seconds: int

    def __post_init__(self) -> None:
        if not (
            0 <= self.weekday < 7
            and 0 <= self.start_second < DAY_SECONDS
            and 0 < self.length_seconds <= DAY_SECONDS
        ):
            raise ValueError(f"{self} is no span of a week")


@dataclass(frozen=True, slots=True)
class Schedule:
    """The spans of a week; those that begin on a holiday count only where `on_holidays`."""

    name: str
    spans: tuple[Span, ...]
    on_holidays: bool = False

    def covers(self, when: LocalTime, holidays: Set[int]) -> bool:
        """Whether a moment lies in a span: end times are outside, starting times inside.

        A night shift belongs to the day on which it begins, also on holidays.
        """
        return any(self._begun(when, days_ago, holidays) for days_ago in (0, 1))

    def _begun(self, when: LocalTime, days_ago: int, holidays: Set[int]) -> bool:
        """Whether the moment lies in a span that began so many days ago."""
        day = when.day - days_ago
        if day in holidays and not self.on_holidays:
            return False
        weekday = (when.weekday - days_ago) % 7
        second = when.second + days_ago * DAY_SECONDS
        return any(
            span.weekday == weekday and 0 <= second - span.start_second < span.length_seconds
            for span in self.spans
        )
