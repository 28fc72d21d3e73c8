"""`edgefaced attendance correct`: records put right by records of their own, with a reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from edgefaced.attendance.correcting import (
    addition,
    change,
    moment_in,
    record_correction,
    record_named,
    voiding,
)
from edgefaced.attendance.reading import read_book
from edgefaced.attendance.report import Reader, punch_body
from edgefaced.cli.attendance_options import names_of, person_id_of, zone
from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, plain, print_json, stdout
from edgefaced.core.attendance import Punch
from edgefaced.core.attendance_book import Book
from edgefaced.events import Event
from edgefaced.ledger.store import Ledger
from edgefaced.types import Direction

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def correct() -> None:
    """Put attendance right: nothing is edited, each correction is a record with a reason."""


def _options(command: Command) -> Command:
    for option in (
        json_option,
        click.option("--by", required=True, metavar="NAME", help="Who says so."),
        click.option("--reason", required=True, metavar="TEXT", help="Why; it stays for ever."),
    ):
        command = option(command)
    return command


DIRECTION = click.Choice([d.value for d in Direction])


@correct.command()
@click.argument("person")
@click.argument("direction", type=DIRECTION)
@click.argument("time")
@_options
@pass_context
def add(
    context: CliContext,
    person: str,
    direction: str,
    time: str,
    *,
    reason: str,
    by: str,
    as_json: bool,
) -> None:
    """Add a record of PERSON (name or id): "in" or "out" at a local TIME, "2026-03-02 17:00"."""
    at = moment_in(time, zone(context.settings()), datetime.now(UTC))
    event = addition(person_id_of(context, person), Direction(direction), at, reason, by)
    with Ledger.open(context.places.events_file, create=True) as ledger:
        _record(context, ledger, Book(), event, as_json=as_json)


@correct.command()
@click.argument("record")
@_options
@pass_context
def void(context: CliContext, record: str, *, reason: str, by: str, as_json: bool) -> None:
    """Take a RECORD back, by its id or the beginning of it; it stays visible."""
    with Ledger.open(context.places.events_file) as ledger:
        book = read_book(ledger)
        event = voiding(record_named(book, record), reason, by)
        _record(context, ledger, book, event, as_json=as_json)


@correct.command("change")
@click.argument("record")
@click.option("--direction", type=DIRECTION, help="The right direction.")
@click.option("--at", "time", metavar="TIME", help='The right local time, "2026-03-02 17:00".')
@_options
@pass_context
def change_record(
    context: CliContext,
    record: str,
    *,
    direction: str | None,
    time: str | None,
    reason: str,
    by: str,
    as_json: bool,
) -> None:
    """Give a RECORD, by its id or the beginning of it, another direction or time."""
    at = None
    if time is not None:
        at = moment_in(time, zone(context.settings()), datetime.now(UTC))
    with Ledger.open(context.places.events_file) as ledger:
        book = read_book(ledger)
        punch = record_named(book, record)
        event = change(punch, None if direction is None else Direction(direction), at, reason, by)
        _record(context, ledger, book, event, as_json=as_json)


def _record(
    context: CliContext, ledger: Ledger, book: Book, event: Event, *, as_json: bool
) -> None:
    punch: Punch = record_correction(ledger, book, event)
    reader = Reader(names_of(context), zone(context.settings()))
    if as_json:
        print_json({"record": punch_body(punch, reader)})
        return
    state = "taken back: " if punch.void else ""
    stdout.print(
        plain(
            f"{state}{reader.name(punch.person_id)}, {punch.direction} at "
            f"{reader.local(punch.moment.utc)} (record {punch.record_id})"
        )
    )
