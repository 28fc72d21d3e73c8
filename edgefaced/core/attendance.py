"""When a recognised person has come or gone: direction, cool-down, working days.

A device may have no battery for its clock and lose power at any time. Within a boot the monotonic
clock counts; across boots there are only dates, and a date that runs backwards tells nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum

from edgefaced.core.schedule import DAY_SECONDS
from edgefaced.types import CorrectionKind, Direction


class Mode(StrEnum):
    """What gives the direction."""

    IN = "in"
    OUT = "out"
    ALTERNATING = "alternating"
    SCHEDULE = "schedule"
    BUTTON = "button"


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment by both clocks; the monotonic one says nothing where `boot_id` is empty."""

    utc: datetime
    monotonic_ns: int = 0
    boot_id: str = ""


@dataclass(frozen=True, slots=True)
class Correction:
    """What an operator said of a record, or a record that an operator added; see the event."""

    id: str
    kind: CorrectionKind
    of_record: str
    person_id: str
    direction: Direction | None
    at: datetime | None
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Punch:
    """One record of attendance as it now stands; `source` and `place` say where it came from."""

    record_id: str
    person_id: str
    direction: Direction
    moment: Moment
    source: str
    place: str
    synchronised: bool
    corrections: tuple[Correction, ...] = ()

    @property
    def void(self) -> bool:
        """Taken back: it stands in the list and counts nowhere."""
        return any(c.kind is CorrectionKind.VOID for c in self.corrections)


def seconds_between(earlier: Moment, later: Moment) -> float:
    """Negative where the dates of two boots run backwards."""
    if earlier.boot_id and earlier.boot_id == later.boot_id:
        return (later.monotonic_ns - earlier.monotonic_ns) / 1e9
    return (later.utc - earlier.utc).total_seconds()


@dataclass(frozen=True, slots=True)
class WorkingDays:
    """Which working day a moment belongs to, and which check-outs belong to which check-ins.

    A working day begins at `begin` by the wall clock of `zone`. A check-out belongs to the
    check-in before it when both lie in one working day, or no longer apart than a night shift.
    """

    zone: tzinfo
    begin: time = time(4)
    longest_night_shift: float = 12 * 3600.0

    def day_of(self, utc: datetime) -> date:
        """By the wall clock, whatever daylight saving does to a day's length."""
        day = utc.astimezone(self.zone).date()
        # Compared as moments: the hour that is repeated in autumn must not begin a day twice.
        begins = datetime.combine(day, self.begin, self.zone).astimezone(UTC)
        return day - timedelta(days=1) if utc < begins else day

    def seconds_into(self, wall: time) -> int:
        """How late in a working day the wall clock shows this."""
        return (_of_day(wall) - _of_day(self.begin)) % DAY_SECONDS

    def belong_together(self, came: Moment, went: Moment) -> bool:
        """Whether `went` can end what `came` began."""
        elapsed = seconds_between(came, went)
        if elapsed < 0:
            return False
        return elapsed <= self.longest_night_shift or self.day_of(came.utc) == self.day_of(went.utc)


@dataclass(frozen=True, slots=True)
class AttendanceRules:
    """How sightings become records. `in_until` and `out_from` are for Mode.SCHEDULE."""

    mode: Mode
    days: WorkingDays
    cool_down: float
    """Seconds after a record of a person in which there is no other."""
    in_until: time = time(12)
    out_from: time = time(12)
    button_seconds: float = 10.0
    """How far a button and the face it is for may be apart."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A known person at a moment; `event_id` is the decision's."""

    event_id: str
    person_id: str
    moment: Moment


@dataclass(frozen=True, slots=True)
class CheckIn:
    """What is to be recorded of a sighting: a check-in, or a check-out."""

    sighting: Sighting
    direction: Direction
    source: str


def record_of(
    rules: AttendanceRules,
    sighting: Sighting,
    last: Punch | None,
    button: Direction | None = None,
) -> CheckIn | None:
    """What a sighting is worth after the person's `last` record; None for nothing.

    Nothing within the cool-down, or where a button gives the direction and none was pressed. Who
    presses the other button means it: for that there is no cool-down.
    """
    given = direction_of(rules, sighting.moment, last, button)
    if given is None:
        return None
    direction, source = given
    if last is not None and 0 <= seconds_between(last.moment, sighting.moment) < rules.cool_down:
        meant = rules.mode is Mode.BUTTON and direction is not last.direction
        if not meant:
            return None
    return CheckIn(sighting, direction, source)


def direction_of(
    rules: AttendanceRules, now: Moment, last: Punch | None, button: Direction | None
) -> tuple[Direction, str] | None:
    """The direction and the source that a record names; None where no button was pressed."""
    match rules.mode:
        case Mode.IN | Mode.OUT:
            return Direction(rules.mode.value), "device"
        case Mode.BUTTON:
            return None if button is None else (button, "button")
        case Mode.SCHEDULE:
            days = rules.days
            into = days.seconds_into(now.utc.astimezone(days.zone).time())
            if into < days.seconds_into(rules.in_until):
                return Direction.IN, "schedule"
            if into >= days.seconds_into(rules.out_from):
                return Direction.OUT, "schedule"
    came = last is not None and last.direction is Direction.IN
    if last is not None and came and rules.days.belong_together(last.moment, now):
        return Direction.OUT, "alternating"
    # A check-out that was forgotten stays missing: the next one begins anew.
    return Direction.IN, "alternating"


def _of_day(wall: time) -> int:
    return wall.hour * 3600 + wall.minute * 60 + wall.second
