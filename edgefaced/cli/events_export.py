"""`edgefaced events export`: what happened as a table or as JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.events_options import (
    Choice,
    Names,
    choice_options,
    entry_body,
    names_of,
    open_ledger,
    wanted_of,
)
from edgefaced.cli.output import json_option, note, print_json
from edgefaced.errors import UsageError
from edgefaced.gallery.export_file import exporting
from edgefaced.ledger.reading import Entry, entries
from edgefaced.sinks.words import in_words
from edgefaced.spreadsheet import BYTE_ORDER_MARK, Cell, csv_lines

COLUMNS = (
    "record",
    "utc",
    "local",
    "utc_offset",
    "clock",
    "kind",
    "camera",
    "door",
    "person_id",
    "name",
    "outcome",
    "score",
    "what",
    "event_id",
    "recorded_utc",
    "digest",
)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@choice_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "jsonl"]),
    help="Else by the ending of FILE; csv.",
)
@click.option("--bom", is_flag=True, help="Mark a CSV file as UTF-8, which Excel needs.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
@json_option
@pass_context
def export(
    context: CliContext,
    /,
    file: Path,
    *,
    form: str | None,
    bom: bool,
    force: bool,
    as_json: bool,
    **choice: str | bool | None,
) -> None:
    """Write events to FILE ("-": stdout), oldest first: CSV, or one JSON document a line.

    Every time is there as UTC and as local time with its offset, which tells the two half past two
    of an autumn night apart. No cell of a CSV file can become a formula.
    """
    to_stdout = str(file) == "-"
    if as_json and to_stdout:
        raise UsageError("stdout has the events: --json needs a file")
    if form is None:
        form = "jsonl" if file.suffix.lower() in {".jsonl", ".ndjson", ".json"} else "csv"
    chosen = Choice(**choice)  # type: ignore[arg-type]  # click gives what the options promise
    wanted, count = wanted_of(context, chosen), 0

    def counted(found: Iterator[Entry]) -> Iterator[Entry]:
        nonlocal count
        for entry in found:
            count += 1
            yield entry

    with open_ledger(context) as ledger, names_of(context, chosen) as names:
        found = counted(entries(ledger, wanted))
        lines = _json_lines(found, names) if form == "jsonl" else _csv(found, names, bom=bom)
        if to_stdout:
            sys.stdout.writelines(lines)
            return
        with exporting(file, overwrite=force) as out:
            # Bytes of a name that are no text cannot be in a file of UTF-8.
            out.writelines(line.encode("utf-8", "replace") for line in lines)
    if as_json:
        print_json({"file": str(file), "format": form, "events": count})
    else:
        note(f"{count} events in {file}")


def _json_lines(found: Iterator[Entry], names: Names) -> Iterator[str]:
    for entry in found:
        yield json.dumps(entry_body(entry, names), ensure_ascii=True) + "\n"


def _csv(found: Iterator[Entry], names: Names, *, bom: bool) -> Iterator[str]:
    if bom:
        yield BYTE_ORDER_MARK
    yield from csv_lines(COLUMNS, (cells(entry, names) for entry in found))


def cells(entry: Entry, names: Names) -> tuple[Cell, ...]:
    """The row of one event."""
    body, when = entry_body(entry, names), entry.when
    return (
        entry.record.position,
        f"{when.utc:%Y-%m-%d %H:%M:%S}",
        f"{when.local:%Y-%m-%d %H:%M:%S}",
        offset(when.utc_offset_seconds),
        body["clock"],
        body["type"],
        body["camera"],
        body.get("door"),
        body.get("id"),
        body.get("name"),
        body.get("outcome"),
        body.get("score"),
        in_words(body),
        body["event_id"],
        f"{entry.record.event.utc:%Y-%m-%d %H:%M:%S}",
        body["digest"],
    )


def offset(seconds: int) -> str:
    """Local time's distance from UTC in a form that is no formula: "UTC+02:00"."""
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    return f"UTC{sign}{minutes // 60:02}:{minutes % 60:02}"
