"""What the commands about events share: which ones, names, and how one is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click

from edgefaced.cli.context import CliContext
from edgefaced.errors import EdgefacedError, Refused, UsageError
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.codec import KINDS
from edgefaced.ledger.reading import Entry, Wanted
from edgefaced.ledger.store import Ledger
from edgefaced.sinks.names import GalleryNames
from edgefaced.sinks.shape import document, person_of

Command = TypeVar("Command", bound=Callable[..., Any])

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What was asked for, as it was written."""

    since: str | None = None
    until: str | None = None
    kinds: tuple[str, ...] = ()
    person: str | None = None
    names: bool = True


@dataclass(slots=True)
class Names:
    """Looks names up, each once."""

    lookup: GalleryNames | None
    known: dict[str, str | None] = field(default_factory=dict)

    def of(self, person_id: str | None) -> str | None:
        """None where nobody has the id any more, or names are not wanted."""
        if person_id is None or self.lookup is None:
            return None
        if person_id not in self.known:
            self.known[person_id] = self.lookup.name_of(person_id)
        return self.known[person_id]


def choice_options(command: Command) -> Command:
    """Adds the options of a Choice."""
    moments = '"2026-03-29 02:30", a day, or how long ago: 90m, 12h, 7d.'
    for option in (
        click.option(
            "--names/--ids", default=True, show_default=True, help="Show people by name or by id."
        ),
        click.option("--person", metavar="NAME", help="Only about this person, by name or id."),
        click.option(
            "--kind",
            "kinds",
            multiple=True,
            type=click.Choice(list(KINDS)),
            help="Only this kind; may be repeated.",
        ),
        click.option("--until", metavar="TIME", help="Only before this time, likewise."),
        click.option("--since", metavar="TIME", help=f"Only from this time on: {moments}"),
    ):
        command = option(command)
    return command


def wanted_of(context: CliContext, choice: Choice) -> Wanted:
    """Raises UsageError for what is no time, Refused for a person of whom nothing is known."""
    return Wanted(
        since=None if choice.since is None else moment_in(choice.since),
        until=None if choice.until is None else moment_in(choice.until),
        kinds=choice.kinds,
        person_id=None if choice.person is None else person_id_of(context, choice.person),
    )


def moment_in(text: str, now: datetime | None = None) -> datetime:
    """A time as people write it, local where it has no offset. Raises UsageError."""
    ago = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip())
    try:
        if ago:
            return (now or datetime.now(UTC)) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = 'like "2026-03-02 17:00", "2026-03-02", or 12h for "12 hours ago"'
        raise UsageError(f"{text} is no time", hint) from None


def person_id_of(context: CliContext, name_or_id: str) -> str:
    """The id of somebody enrolled, or of somebody removed of whom there are records."""
    places = context.places
    try:
        with Gallery.open(places.gallery_file, places.key_file) as gallery:
            found = gallery.id_of(name_or_id)
    except EdgefacedError:  # an id is enough where the gallery cannot be read
        found = None
    if found is not None:
        return found
    with open_ledger(context) as ledger:
        if ledger.knows_person(name_or_id):
            return name_or_id
    raise Refused(
        f"{name_or_id} is not enrolled, and there are no events of that id",
        "`edgefaced list` shows who is",
    )


def open_ledger(context: CliContext) -> Ledger:
    """This machine's ledger. Raises LedgerMissing where nothing was ever recorded."""
    return Ledger.open(context.places.events_file)


@contextmanager
def names_of(context: CliContext, choice: Choice) -> Iterator[Names]:
    """Looks names up in the gallery, where they are wanted and it can be read."""
    if not choice.names:
        yield Names(None)
        return
    lookup = GalleryNames(context.places.gallery_file, context.places.key_file)
    try:
        yield Names(lookup)
    finally:
        lookup.close()


def entry_body(entry: Entry, names: Names) -> dict[str, Any]:
    """The event's document with its place, and when it happened as far as that is known.

    "timestamp" and "utc" are what is known now; "recorded_utc" is what the clock said.
    """
    event, when = entry.record.event, entry.when
    body = document(event, names.of(person_of(event)))
    del body["recorded"]
    return {
        "position": entry.record.position,
        **body,
        "timestamp": round(when.utc.timestamp(), 3),
        "utc": when.utc.isoformat(),
        "local": when.local.isoformat(),
        "utc_offset_seconds": when.utc_offset_seconds,
        "clock": clock_of(entry),
        "recorded_utc": event.utc.isoformat(),
        "digest": entry.record.digest.hex(),
    }


def clock_of(entry: Entry) -> str:
    """How a record's time is known."""
    if entry.when.repaired:
        return "repaired"
    return "synchronised" if entry.when.certain else "uncertain"
