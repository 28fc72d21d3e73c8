"""Intervals of presence, and what they come to in a day and for a person.

Nothing is invented: a check-out that is missing stays missing and its interval counts no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from edgefaced.core.attendance import Moment, Punch, WorkingDays
from edgefaced.types import Direction


class IntervalState(StrEnum):
    """Whether both ends are there."""

    COMPLETE = "complete"
    PRESENT = "present"
    """No check-out yet, and it may still come."""
    OPEN = "no check-out"
    NO_CHECK_IN = "no check-in"


@dataclass(frozen=True, slots=True)
class Interval:
    """From a check-in to the check-out that belongs to it; `day` is the check-in's."""

    person_id: str
    day: date
    came: Punch | None
    went: Punch | None
    state: IntervalState

    @property
    def ends(self) -> tuple[Punch, ...]:
        return tuple(punch for punch in (self.came, self.went) if punch is not None)

    @property
    def seconds(self) -> float | None:
        """Elapsed time, which daylight saving does not change; None without both ends.

        None as well where the dates run backwards, as after a boot whose clock was never set.
        """
        if self.came is None or self.went is None:
            return None
        elapsed = (self.went.moment.utc - self.came.moment.utc).total_seconds()
        return elapsed if elapsed >= 0 else None


@dataclass(frozen=True, slots=True)
class Total:
    """What some intervals of one person come to."""

    person_id: str
    intervals: tuple[Interval, ...]

    @property
    def seconds(self) -> float:
        """Worked time of what has both ends."""
        return sum(i.seconds or 0.0 for i in self.intervals)

    @property
    def days(self) -> int:
        """Working days with any record."""
        return len({i.day for i in self.intervals})

    @property
    def first_in(self) -> datetime | None:
        return min((i.came.moment.utc for i in self.intervals if i.came), default=None)

    @property
    def last_out(self) -> datetime | None:
        return max((i.went.moment.utc for i in self.intervals if i.went), default=None)

    @property
    def present(self) -> bool:
        """Whether the person is (still) in."""
        return any(i.state is IntervalState.PRESENT for i in self.intervals)

    @property
    def missing(self) -> int:
        """Ends that are missing, a check-out that may still come aside."""
        lacking = (IntervalState.OPEN, IntervalState.NO_CHECK_IN)
        return sum(i.state in lacking for i in self.intervals)

    @property
    def corrected(self) -> bool:
        return any(punch.corrections for i in self.intervals for punch in i.ends)

    @property
    def synchronised(self) -> bool:
        """Whether every clock was right, as far as its kernel knew."""
        return all(punch.synchronised for i in self.intervals for punch in i.ends)


@dataclass(frozen=True, slots=True)
class DayTotal:
    """One person's working day."""

    day: date
    total: Total


def intervals_of(punches: Iterable[Punch], days: WorkingDays, now: Moment) -> Iterator[Interval]:
    """Intervals of one person from their records in order; what was voided counts nowhere."""
    came: Punch | None = None
    for punch in punches:
        if punch.void:
            continue
        if punch.direction is Direction.IN:
            if came is not None:
                yield _open(came, days, IntervalState.OPEN)
            came = punch
            continue
        if came is not None and days.belong_together(came.moment, punch.moment):
            day = days.day_of(came.moment.utc)
            yield Interval(punch.person_id, day, came, punch, IntervalState.COMPLETE)
        else:
            if came is not None:
                yield _open(came, days, IntervalState.OPEN)
            day = days.day_of(punch.moment.utc)
            yield Interval(punch.person_id, day, None, punch, IntervalState.NO_CHECK_IN)
        came = None
    if came is not None:
        still = days.belong_together(came.moment, now)
        yield _open(came, days, IntervalState.PRESENT if still else IntervalState.OPEN)


def within(intervals: Iterable[Interval], first: date, last: date) -> tuple[Interval, ...]:
    """Those of the working days from `first` to `last`, both included."""
    return tuple(i for i in intervals if first <= i.day <= last)


def by_day(intervals: Sequence[Interval]) -> tuple[DayTotal, ...]:
    """A total for each person and working day, in order of days."""
    found: dict[tuple[date, str], list[Interval]] = {}
    for interval in intervals:
        found.setdefault((interval.day, interval.person_id), []).append(interval)
    days = sorted(found.items(), key=lambda item: item[0][0])
    return tuple(DayTotal(day, Total(person, tuple(own))) for (day, person), own in days)


def by_person(intervals: Sequence[Interval]) -> tuple[Total, ...]:
    """A total for each person, in the order of the intervals."""
    found: dict[str, list[Interval]] = {}
    for interval in intervals:
        found.setdefault(interval.person_id, []).append(interval)
    return tuple(Total(person, tuple(own)) for person, own in found.items())


def _open(came: Punch, days: WorkingDays, state: IntervalState) -> Interval:
    return Interval(came.person_id, days.day_of(came.moment.utc), came, None, state)
