"""Attendance: whether it is kept, and what gives the direction of a record."""

from __future__ import annotations

from datetime import time, tzinfo
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from edgefaced.config.section import Section
from edgefaced.core.attendance import AttendanceRules, Mode, WorkingDays
from edgefaced.types import Direction

WallTime = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
"""Hours and minutes, as a clock on the wall shows them: "04:00"."""


class AttendanceSection(Section):
    """Who came and who went, recorded in the ledger."""

    enabled: bool = False
    mode: Literal["in", "out", "alternating", "schedule", "button"] = "alternating"
    """"in" and "out": this device stands at an entrance or at an exit; "alternating": out follows
    in; "schedule": by the time of day; "button": somebody presses one, before or after the face."""
    cool_down_seconds: Annotated[float, Field(ge=0, le=86_400)] = 300.0
    """For how long after a record of a person there is no other one of that person."""
    day_begins: WallTime = "04:00"
    """When a working day begins; what comes before belongs to the day before."""
    longest_night_shift_hours: Annotated[float, Field(ge=0, le=24)] = 12.0
    """A check-out belongs to a check-in of the working day before when it comes within so long;
    0: never. A check-out that was forgotten is reported as missing."""
    in_until: WallTime = "12:00"
    """schedule: earlier in the working day, somebody comes."""
    out_from: WallTime = "12:00"
    """schedule: later in the working day, somebody goes; between the two, out follows in."""
    button_seconds: Annotated[float, Field(gt=0, le=120)] = 10.0
    """button: how long before or after the face it counts."""
    in_button_line: Annotated[str, Field(min_length=1)] | None = None
    """button: name of the GPIO line of the button for coming, or its offset."""
    out_button_line: Annotated[str, Field(min_length=1)] | None = None
    """button: the same of the one for going."""
    button_chip: Annotated[str, Field(min_length=1)] | None = None
    """Label or path of the GPIO chip of both."""
    button_active_low: bool = True
    """Whether a button that is pressed pulls its line down."""
    button_chip_kind: Literal["gpiochip", "file"] = "gpiochip"
    """"file": `button_chip` is a folder with one small file a line, for trying out."""
    time_zone: Annotated[str, Field(min_length=1)] | None = None
    """Name of the zone that working days are reckoned in; absent: the machine's."""
    liveness: Literal["required", "not required"] = "not required"
    """Whether only a face that passed a liveness check is recorded."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self._into(self.in_until) > self._into(self.out_from):
            raise ValueError("in_until is later in the working day than out_from")
        lines = (self.in_button_line, self.out_button_line)
        if self.button_chip is None and any(line is not None for line in lines):
            raise ValueError("a button's line needs button_chip")
        if self.button_chip is not None and None in lines:
            raise ValueError("button_chip needs in_button_line and out_button_line")
        if lines[0] is not None and lines[0] == lines[1]:
            raise ValueError("in_button_line and out_button_line are the same line")
        return self

    def button_lines(self) -> dict[Direction, str]:
        """Names of the lines that have a button."""
        lines = {Direction.IN: self.in_button_line, Direction.OUT: self.out_button_line}
        return {direction: line for direction, line in lines.items() if line is not None}

    def working_days(self, zone: tzinfo) -> WorkingDays:
        """The same as the core's value, in a zone."""
        return WorkingDays(
            zone, time.fromisoformat(self.day_begins), self.longest_night_shift_hours * 3600
        )

    def rules(self, zone: tzinfo) -> AttendanceRules:
        """The same as the core's value, in a zone."""
        return AttendanceRules(
            mode=Mode(self.mode),
            days=self.working_days(zone),
            cool_down=self.cool_down_seconds,
            in_until=time.fromisoformat(self.in_until),
            out_from=time.fromisoformat(self.out_from),
            button_seconds=self.button_seconds,
        )

    def _into(self, wall: WallTime) -> int:
        hours, minutes = (int(part) for part in wall.split(":"))
        begin_hours, begin_minutes = (int(part) for part in self.day_begins.split(":"))
        return ((hours - begin_hours) * 60 + minutes - begin_minutes) % (24 * 60)
