"""Attendance as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime

from rich.table import Column, Table

from edgefaced.attendance.report import Reader, corrections_of, duration
from edgefaced.cli.output import note, plain, stdout
from edgefaced.core.attendance import Punch
from edgefaced.core.attendance_days import DayTotal, Total

SHOWN = 13
"""Characters of a record's id in a table: enough to name it by."""


def records_table(punches: Iterable[Punch], reader: Reader) -> Table:
    """A line a record; what was taken back is struck through."""
    table = _table("time", "name", "", "by", "record", "remarks")
    for punch in punches:
        table.add_row(
            reader.local(punch.moment.utc),
            plain(reader.name(punch.person_id)),
            punch.direction.value,
            plain(punch.source),
            punch.record_id[:SHOWN],
            plain(_remarks(punch)),
            style="strike" if punch.void else "",
        )
    return table


def days_table(days: Iterable[DayTotal], reader: Reader) -> Table:
    """A line a person and day."""
    table = _table("day", "name", "in", "out", "hours", "remarks")
    for day in days:
        total = day.total
        table.add_row(
            day.day.isoformat(),
            plain(reader.name(total.person_id)),
            _clock(day.day, total.first_in, reader),
            _clock(day.day, total.last_out, reader),
            duration(total.seconds),
            _said(total),
        )
    return table


def people_table(people: Iterable[Total], reader: Reader) -> Table:
    """A line a person."""
    table = _table("name", "days", "hours", "remarks")
    for total in people:
        name = plain(reader.name(total.person_id))
        table.add_row(name, str(total.days), duration(total.seconds), _said(total))
    return table


def show(table: Table, rows: int, what: str) -> None:
    """Prints a table that has rows; else that there is none of `what`."""
    if rows:
        stdout.print(table)
    else:
        note(f"no {what} in this period")


def _remarks(punch: Punch) -> str:
    clock = "" if punch.synchronised else "clock not synchronised"
    return "; ".join(remark for remark in (corrections_of(punch), clock) if remark)


def _clock(day: date, moment: datetime | None, reader: Reader) -> str:
    """The time of day, with the days that lie between, as on a night shift."""
    if moment is None:
        return "-"
    local = moment.astimezone(reader.zone)
    later = (local.date() - day).days
    return f"{local:%H:%M:%S}" + (f" +{later}" if later else "")


def _said(total: Total) -> str:
    states = [interval.state.value for interval in total.intervals]
    remarks = [
        f"{states.count(state)} × {state}"
        for state in ("no check-out", "no check-in")
        if state in states
    ]
    remarks += ["present"] * total.present + ["corrected"] * total.corrected
    remarks += [] if total.synchronised else ["clock not synchronised"]
    return ", ".join(remarks)


def _table(*headings: str) -> Table:
    columns = (Column(heading, overflow="fold") for heading in headings)
    return Table(*columns, box=None, pad_edge=False)
