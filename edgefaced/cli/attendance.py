"""`edgefaced attendance`: who came and who went, what it comes to, and what was put right."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from edgefaced.attendance.correcting import PLACE
from edgefaced.attendance.reading import EVER, Period
from edgefaced.attendance.report import (
    DAY_COLUMNS,
    INTERVAL_COLUMNS,
    PERSON_COLUMNS,
    day_body,
    day_cells,
    interval_cells,
    person_cells,
    punch_body,
    total_body,
)
from edgefaced.cli.attendance_correct import correct
from edgefaced.cli.attendance_options import Choice, Findings, choice_options, find, written_to
from edgefaced.cli.attendance_tables import days_table, people_table, records_table, show
from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, note, print_json
from edgefaced.core.attendance import Punch
from edgefaced.core.attendance_days import Total, by_day, by_person
from edgefaced.errors import UsageError
from edgefaced.gallery.export_file import write_export
from edgefaced.ledger.store import Ledger
from edgefaced.spreadsheet import BYTE_ORDER_MARK, Cell, csv_lines
from edgefaced.types import Direction


@click.group()
def attendance() -> None:
    """Who came and who went: records, hours, corrections, tables for payrolls."""


attendance.add_command(correct)


@attendance.command("list")
@choice_options
@json_option
@pass_context
def list_records(context: CliContext, /, *, as_json: bool, **choice: Any) -> None:
    """Every record with its id, corrections beside it; of this month unless told otherwise."""
    found = find(context, Choice(**choice))
    punches = [
        punch
        for person in found.people
        for punch in found.book.punches(person)
        if _within(found, punch)
    ]
    punches.sort(key=lambda punch: punch.moment.utc)
    if as_json:
        print_json(
            {**_head(found), "records": [punch_body(punch, found.reader) for punch in punches]}
        )
        return
    show(records_table(punches, found.reader), len(punches), "record")


@attendance.command()
@choice_options
@click.option("--per-person", is_flag=True, help="One line a person, not one a day.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
@pass_context
def summary(
    context: CliContext, /, *, per_person: bool, as_csv: bool, as_json: bool, **choice: Any
) -> None:
    """Hours of each day and person; of this month unless told otherwise.

    A check-out that is missing is shown and counts no time.
    """
    if as_csv and as_json:
        raise UsageError("--csv and --json exclude each other")
    found = find(context, Choice(**choice))
    intervals = found.intervals()
    days, people = by_day(intervals), _in_order(found, by_person(intervals))
    reader = found.reader
    if as_json:
        print_json(
            {
                **_head(found),
                "days": [day_body(day, reader) for day in days],
                "people": [total_body(total, reader) for total in people],
            }
        )
    elif as_csv and per_person:
        _print_csv(PERSON_COLUMNS, (person_cells(total, reader) for total in people))
    elif as_csv:
        _print_csv(DAY_COLUMNS, (day_cells(day, reader) for day in days))
    elif per_person:
        show(people_table(people, reader), len(people), "person")
    else:
        show(days_table(days, reader), len(days), "day")


@attendance.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@choice_options
@click.option("--bom", is_flag=True, help="Mark the file as UTF-8, which Excel needs.")
@click.option(
    "--separator",
    type=click.Choice([",", ";", "tab"]),
    default=",",
    show_default=True,
    help='With ";" numbers have a decimal comma.',
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
@json_option
@pass_context
def export(
    context: CliContext,
    /,
    file: Path,
    *,
    bom: bool,
    separator: str,
    force: bool,
    as_json: bool,
    **choice: Any,
) -> None:
    """Write every interval to a CSV FILE ("-": stdout); everything unless told otherwise.

    A row has the working day, name, person_id, in, out (local time), hours, duration, state, the
    source of the direction, whether and why it was corrected, and whether the clock was right.
    """
    found = find(context, Choice(**choice), usually="ever")
    intervals = found.intervals()
    rows = (interval_cells(interval, found.reader) for interval in intervals)
    lines = csv_lines(INTERVAL_COLUMNS, rows, separator={"tab": "\t"}.get(separator, separator))
    text = (BYTE_ORDER_MARK if bom else "") + "".join(lines)
    if not written_to(file):
        if as_json:
            raise UsageError("stdout has the table: --json needs a file")
        sys.stdout.write(text)
        return
    # Bytes of a name that are no text cannot be in a file of UTF-8.
    write_export(file, text.encode("utf-8", "replace"), overwrite=force)
    if as_json:
        print_json({**_head(found), "file": str(file), "rows": len(intervals)})
    else:
        note(f"{len(intervals)} rows in {file}")


@attendance.command()
@click.argument("direction", type=click.Choice([d.value for d in Direction]))
@pass_context
def press(context: CliContext, direction: str) -> None:
    """Be the button for coming or for going, where attendance.mode is "button"."""
    from edgefaced.events import DirectionChosen, Event

    with Ledger.open(context.places.events_file, create=True) as ledger:
        ledger.append([Event(DirectionChosen(Direction(direction)), PLACE)])


def _within(found: Findings, punch: Punch) -> bool:
    day = found.days.day_of(punch.moment.utc)
    return found.period.first <= day <= found.period.last


def _head(found: Findings) -> dict[str, str | None]:
    period: Period = found.period
    return {
        "from": None if period.first == EVER.first else period.first.isoformat(),
        "to": None if period.last == EVER.last else period.last.isoformat(),
    }


def _in_order(found: Findings, totals: Sequence[Total]) -> list[Total]:
    place = {person: i for i, person in enumerate(found.people)}
    return sorted(totals, key=lambda total: place[total.person_id])


def _print_csv(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    for line in csv_lines(columns, rows):
        sys.stdout.write(line)
