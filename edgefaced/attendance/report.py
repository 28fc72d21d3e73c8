"""Attendance as tables and documents for people who pay wages: local times, names, hours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from edgefaced.core.attendance import Punch
from edgefaced.core.attendance_days import DayTotal, Interval, Total
from edgefaced.spreadsheet import Cell
from edgefaced.types import CorrectionKind

INTERVAL_COLUMNS = (
    *("date", "name", "person_id", "in", "out", "hours", "duration", "state"),
    *("source", "corrected", "corrections", "clock_synchronised"),
)
DAY_COLUMNS = (
    *("date", "name", "person_id", "first_in", "last_out", "hours", "duration", "intervals"),
    *("missing", "present", "corrected", "clock_synchronised"),
)
PERSON_COLUMNS = (
    *("name", "person_id", "days", "hours", "duration", "intervals", "missing", "present"),
    *("corrected", "clock_synchronised"),
)

_DONE = {
    CorrectionKind.ADD: "added",
    CorrectionKind.VOID: "taken back",
    CorrectionKind.CHANGE: "changed",
}


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom it is written: the names that may be shown, and the zone of local times."""

    names: Mapping[str, str]
    zone: tzinfo

    def name(self, person_id: str) -> str:
        """The name, or the id of somebody who is not enrolled any more."""
        return self.names.get(person_id, person_id)

    def local(self, moment: datetime | None) -> str:
        """Date and time as the wall clock showed them; empty for none."""
        if moment is None:
            return ""
        return moment.astimezone(self.zone).strftime("%Y-%m-%d %H:%M:%S")

    def iso(self, moment: datetime | None) -> str | None:
        """The same with its offset, which tells the two hours of an autumn night apart."""
        return None if moment is None else moment.astimezone(self.zone).isoformat("T", "seconds")


def hours(seconds: float) -> float:
    """To a hundredth."""
    return round(seconds / 3600, 2)


def duration(seconds: float) -> str:
    """Hours and whole minutes, as payrolls write them."""
    minutes = int(seconds // 60)
    return f"{minutes // 60}:{minutes % 60:02}"


def corrections_of(*punches: Punch | None) -> str:
    """Who corrected what, and why."""
    return "; ".join(
        f"{_DONE[c.kind]} by {c.by}: {c.reason}"
        for punch in punches
        if punch is not None
        for c in punch.corrections
    )


def interval_cells(interval: Interval, reader: Reader) -> tuple[Cell, ...]:
    """INTERVAL_COLUMNS of one interval."""
    seconds = interval.seconds
    ends = interval.ends
    return (
        interval.day.isoformat(),
        reader.name(interval.person_id),
        interval.person_id,
        reader.local(None if interval.came is None else interval.came.moment.utc),
        reader.local(None if interval.went is None else interval.went.moment.utc),
        None if seconds is None else hours(seconds),
        None if seconds is None else duration(seconds),
        interval.state.value,
        ", ".join(dict.fromkeys(punch.source for punch in ends)),
        any(punch.corrections for punch in ends),
        corrections_of(*ends),
        all(punch.synchronised for punch in ends),
    )


def day_cells(day: DayTotal, reader: Reader) -> tuple[Cell, ...]:
    """DAY_COLUMNS of one person's day."""
    total = day.total
    return (
        day.day.isoformat(),
        reader.name(total.person_id),
        total.person_id,
        reader.local(total.first_in),
        reader.local(total.last_out),
        hours(total.seconds),
        duration(total.seconds),
        len(total.intervals),
        total.missing,
        total.present,
        total.corrected,
        total.synchronised,
    )


def person_cells(total: Total, reader: Reader) -> tuple[Cell, ...]:
    """PERSON_COLUMNS of one person."""
    return (
        reader.name(total.person_id),
        total.person_id,
        total.days,
        hours(total.seconds),
        duration(total.seconds),
        len(total.intervals),
        total.missing,
        total.present,
        total.corrected,
        total.synchronised,
    )


def day_body(day: DayTotal, reader: Reader) -> dict[str, Any]:
    """Plain JSON values."""
    total = day.total
    return {
        "date": day.day.isoformat(),
        **total_body(total, reader),
        "first_in": reader.iso(total.first_in),
        "last_out": reader.iso(total.last_out),
        "intervals": [interval_body(interval, reader) for interval in total.intervals],
    }


def total_body(total: Total, reader: Reader) -> dict[str, Any]:
    """Plain JSON values."""
    return {
        "name": reader.names.get(total.person_id),
        "person_id": total.person_id,
        "days": total.days,
        "seconds": round(total.seconds, 3),
        "missing": total.missing,
        "present": total.present,
        "corrected": total.corrected,
        "clock_synchronised": total.synchronised,
    }


def interval_body(interval: Interval, reader: Reader) -> dict[str, Any]:
    """Plain JSON values."""
    came, went, seconds = interval.came, interval.went, interval.seconds
    return {
        "in": None if came is None else reader.iso(came.moment.utc),
        "out": None if went is None else reader.iso(went.moment.utc),
        "seconds": None if seconds is None else round(seconds, 3),
        "state": interval.state.value,
        "record_ids": [punch.record_id for punch in interval.ends],
    }


def punch_body(punch: Punch, reader: Reader) -> dict[str, Any]:
    """Plain JSON values."""
    return {
        "record_id": punch.record_id,
        "person_id": punch.person_id,
        "name": reader.names.get(punch.person_id),
        "direction": punch.direction.value,
        "at": reader.iso(punch.moment.utc),
        "source": punch.source,
        "place": punch.place,
        "void": punch.void,
        "clock_synchronised": punch.synchronised,
        "corrections": [
            {"kind": c.kind.value, "reason": c.reason, "by": c.by, "event_id": c.id}
            for c in punch.corrections
        ],
    }
