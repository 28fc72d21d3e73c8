"""Doors: what they hang on, what they demand, and when who may pass."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from edgefaced.config.section import Section
from edgefaced.core.access import DoorRule, Grant, GroupGrant
from edgefaced.core.schedule import DAY_SECONDS, Schedule, Span
from edgefaced.core.wiegand import WiegandFormat

EPOCH = date(1970, 1, 1)
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

PlainName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
"""Of doors, schedules and areas: small letters, digits, - and _; they appear in topics."""
Text = Annotated[str, Field(min_length=1)]


class DoorSection(Section):
    """One door: its lock, its button, its contact, and what it demands."""

    camera: Text | None = None
    """The camera (as `camera.device`) whose faces open it; absent: whichever this daemon has."""
    chip_kind: Literal["gpiochip", "file"] = "gpiochip"
    """"file": `chip` is a folder with one small file a line, for trying out."""
    chip: Text | None = None
    """Label ("pinctrl-rp1") or path of the GPIO chip that all lines below belong to."""

    relay_line: Text | None = None
    """Name of the line, or its offset where the chip names none."""
    relay_active_low: bool = False
    pulse_ms: Annotated[int, Field(ge=50, le=30_000)] = 3000
    """How long the lock is open for somebody."""

    wiegand_zero_line: Text | None = None
    """D0 and D1: a door controller is sent the person's card number instead, or as well."""
    wiegand_one_line: Text | None = None
    wiegand_active_low: bool = False
    """False: the line is high during a pulse, as a transistor that pulls D0 or D1 down needs it."""
    wiegand_bits: Literal[26, 34] = 26
    wiegand_facility: Annotated[int, Field(ge=0, le=65_535)] = 0
    wiegand_pulse_us: Annotated[int, Field(ge=20, le=1000)] = 50
    wiegand_gap_us: Annotated[int, Field(ge=200, le=20_000)] = 2000

    button_line: Text | None = None
    """An exit button: whoever presses it from inside opens the door, in a lockdown as well."""
    button_active_low: bool = True
    contact_line: Text | None = None
    """A contact that is active while the door is open."""
    contact_active_low: bool = False
    input_bias: Literal["pull-up", "pull-down", "disabled", "as-is"] = "pull-up"
    """The chip's own resistor at button and contact; they are wired to ground as a rule, and then a
    cut wire of the contact looks like an open door."""
    debounce_ms: Annotated[int, Field(ge=0, le=1000)] = 30
    """How long a button or contact must keep its level to be believed."""
    held_open_seconds: Annotated[float, Field(ge=1, le=86_400)] = 30.0
    """A door that is open for longer is told."""

    liveness: Literal["required", "not required"] = "required"
    """"not required": a photograph of somebody may open this door."""
    minimum_score: Annotated[float, Field(ge=-1, le=1)] | None = None
    """What this door demands on top of the threshold that everybody is recognised by."""
    when_not_recorded: Literal["stay closed", "open"] = "stay closed"
    """What happens while no event can be written down, because the disk is full for instance."""

    area: PlainName | None = None
    """Anti-passback: who went into an area must come out of it before going in again."""
    direction: Literal["in", "out"] = "in"
    area_reset_seconds: Annotated[float, Field(gt=0, le=604_800)] = 43_200.0
    """After which it is forgotten that somebody went in, or came out."""

    def rule(self, name: str) -> DoorRule:
        """The same as the core's value."""
        return DoorRule(
            name,
            needs_liveness=self.liveness != "not required",
            minimum_score=self.minimum_score,
            opens_unrecorded=self.when_not_recorded == "open",
            needs_card=self.wiegand_zero_line is not None,
        )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        zero, one = self.wiegand_zero_line, self.wiegand_one_line
        if (zero is None) is not (one is None):
            raise ValueError("wiegand_zero_line and wiegand_one_line belong together")
        lines = [self.relay_line, zero, one, self.button_line, self.contact_line]
        taken = [line for line in lines if line is not None]
        if taken and self.chip is None:
            raise ValueError(f"the line {taken[0]!r} belongs to a chip")
        if len(set(taken)) < len(taken):
            raise ValueError("two of its lines are the same")
        if self.wiegand_facility >= 1 << WiegandFormat(self.wiegand_bits).facility_bits:
            raise ValueError(f"wiegand_facility = {self.wiegand_facility}: 26 bits hold up to 255")
        return self


def spans(text: str) -> tuple[Span, ...]:
    """The spans of "mon-fri 07:00-18:00" or "fri,sat 22:00-06:00". Raises ValueError."""
    try:
        days, hours = text.lower().split()
        begins, ends = (_second(part) for part in hours.split("-"))
        weekdays = sorted({day for part in days.split(",") for day in _weekdays(part)})
        if begins >= DAY_SECONDS:
            raise ValueError
    except ValueError:
        raise ValueError(
            f'{text!r} is no span of a week: "mon-fri 07:00-18:00", "sat,sun 22:00-06:00", '
            '"daily 00:00-24:00"'
        ) from None
    length = ends - begins if ends > begins else ends - begins + DAY_SECONDS
    return tuple(Span(weekday, begins, length) for weekday in weekdays)


def _weekdays(text: str) -> list[int]:
    if text == "daily":
        return list(range(7))
    first, _, last = text.partition("-")
    begin, end = DAYS.index(first), DAYS.index(last or first)
    return [day % 7 for day in range(begin, end + (7 if end < begin else 0) + 1)]


def _second(text: str) -> int:
    hours, minutes = text.split(":")
    if not (len(hours) == len(minutes) == 2 and hours.isdecimal() and minutes.isdecimal()):
        raise ValueError
    second = int(hours) * 3600 + int(minutes) * 60
    if int(minutes) > 59 or second > DAY_SECONDS:
        raise ValueError
    return second


def _is_a_span(text: str) -> str:
    spans(text)
    return text


class ScheduleSection(Section):
    """When something is allowed, in local time."""

    weekly: Annotated[tuple[Annotated[str, AfterValidator(_is_a_span)], ...], Field(min_length=1)]
    """"mon-fri 07:00-18:00"; a span may run past midnight and belongs to the day it begins on."""
    on_holidays: bool = False
    """Whether spans that begin on a holiday count."""

    def schedule(self, name: str) -> Schedule:
        """The same as the core's value."""
        return Schedule(
            name, tuple(span for text in self.weekly for span in spans(text)), self.on_holidays
        )


class GroupSection(Section):
    """What every member of a group may open."""

    doors: tuple[PlainName, ...] = ()
    schedule: PlainName | None = None
    """Absent: always."""

    def grants(self, name: str) -> tuple[GroupGrant, ...]:
        """The same as the core's values."""
        return tuple(GroupGrant(name, Grant(door, self.schedule)) for door in self.doors)


class AccessSection(Section):
    """What holds for all doors."""

    holidays: tuple[str, ...] = ()
    """Days ("2026-12-25") and ranges of days ("2026-12-24/2027-01-01")."""
    unsynchronised_clock: Literal["refuse", "trust"] = "refuse"
    """What depends on the time of day while the clock is not synchronised."""
    maximum_age_seconds: Annotated[float, Field(ge=0.2, le=10)] = 2.0
    """No door opens for a face that was seen longer ago."""
    stranger_faces: Annotated[int, Field(ge=2, le=100)] = 5
    """So many unknown faces within `stranger_seconds` are told as strangers at the door."""
    stranger_seconds: Annotated[float, Field(gt=0, le=86_400)] = 60.0

    @field_validator("holidays")
    @classmethod
    def _are_days(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            _days(text)
        return value

    def holiday_numbers(self) -> frozenset[int]:
        """Days since 1970-01-01."""
        return frozenset(day for text in self.holidays for day in _days(text))


def day_number(text: str) -> int:
    """Days since 1970-01-01 of "2026-12-25". Raises ValueError."""
    return (date.fromisoformat(text) - EPOCH).days


def _days(text: str) -> range:
    first, _, last = text.partition("/")
    days = range(day_number(first), day_number(last or first) + 1)
    if not 0 < len(days) <= 366:
        raise ValueError(f"{text!r} is no range of days")
    return days
