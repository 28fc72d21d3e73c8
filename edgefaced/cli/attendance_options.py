"""What the commands about attendance share: periods, people, names, and the corrected records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from edgefaced.attendance.elsewhere import read_elsewhere
from edgefaced.attendance.period import month_named, period_named
from edgefaced.attendance.reading import EVER, Period, read_book
from edgefaced.attendance.report import Reader
from edgefaced.attendance.zone import zone_of
from edgefaced.cli.context import CliContext
from edgefaced.cli.output import note
from edgefaced.core.attendance import Moment, WorkingDays
from edgefaced.core.attendance_book import Book, merged
from edgefaced.core.attendance_days import Interval, intervals_of, within
from edgefaced.errors import EdgefacedError, GalleryMissing, LedgerMissing, Refused
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.store import Ledger

if TYPE_CHECKING:
    from edgefaced.config.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Choice:
    """What was asked for: days and a person, each None for all or for the usual."""

    day: str | None = None
    week: str | None = None
    month: str | None = None
    first: str | None = None
    last: str | None = None
    person: str | None = None
    also: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found: the corrected records, and how to read them."""

    book: Book
    period: Period
    days: WorkingDays
    reader: Reader
    people: tuple[str, ...]
    """Ids in the order of names."""
    now: Moment

    def intervals(self) -> tuple[Interval, ...]:
        """Everybody's intervals of the period, by day and name."""
        found = [
            interval
            for person in self.people
            for interval in within(
                intervals_of(self.book.punches(person), self.days, self.now),
                self.period.first,
                self.period.last,
            )
        ]
        return tuple(sorted(found, key=lambda interval: interval.day))


def choice_options(command: Command) -> Command:
    """Adds the options of a Choice."""
    for option in (
        click.option(
            "--also",
            multiple=True,
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            help="Another device's events, of `edgefaced events export FILE.jsonl`; with its ids.",
        ),
        click.option("--person", metavar="NAME", help="Only this person, by name or id."),
        click.option("--to", "last", metavar="DAY", help="Up to this day."),
        click.option("--from", "first", metavar="DAY", help="From this day on."),
        click.option("--month", metavar="YYYY-MM", help="One month; also: this, last."),
        click.option("--week", metavar="YYYY-Www", help="One week; also: this, last."),
        click.option("--day", metavar="DAY", help="One working day: a date, today, yesterday."),
    ):
        command = option(command)
    return command


def zone(settings: Settings) -> tzinfo:
    """Raises ConfigError."""
    return zone_of(settings.attendance.time_zone)


def find(context: CliContext, choice: Choice, *, usually: str = "this") -> Findings:
    """The records of a choice; without days, of a month (`usually`) or of `ever`.

    Raises UsageError, ConfigError, LedgerError, Refused for a person who is not known.
    """
    settings = context.settings()
    local = zone(settings)
    days = settings.attendance.working_days(local)
    now = datetime.now(UTC)
    today = days.day_of(now)
    period = _asked(choice, today)
    if period is None:
        period = EVER if usually == "ever" else month_named(usually, today)
    reader = Reader(names_of(context), local)
    book, person = _recorded(context, choice, period)
    people = book.people() if person is None else (person,)
    in_order = sorted(people, key=lambda p: (reader.name(p).casefold(), p))
    return Findings(book, period, days, reader, tuple(in_order), Moment(now))


def _asked(choice: Choice, today: date) -> Period | None:
    return period_named(
        today,
        day=choice.day,
        week=choice.week,
        month=choice.month,
        first=choice.first,
        last=choice.last,
    )


def _recorded(context: CliContext, choice: Choice, period: Period) -> tuple[Book, str | None]:
    """The records of this device and of others, and the id of the person who was asked for."""
    books = [read_elsewhere(file) for file in choice.also]
    person = choice.person
    if person is not None and not any(person in book.people() for book in books):
        person = person_id_of(context, person)
    with opened_ledger(context) as ledger:
        if ledger is not None:
            books.append(read_book(ledger, period, person))
    return merged(books), person


@contextmanager
def opened_ledger(context: CliContext) -> Iterator[Ledger | None]:
    """The ledger, or None where nothing was ever recorded."""
    try:
        opened = Ledger.open(context.places.events_file)
    except LedgerMissing:
        note("nothing has been recorded yet: `edgefaced run` with attendance.enabled = true does")
        yield None
        return
    with opened:
        yield opened


def names_of(context: CliContext) -> dict[str, str]:
    """Everybody's name by id; none where the gallery cannot be read, which is said."""
    places = context.places
    try:
        with Gallery.open(places.gallery_file, places.key_file) as gallery:
            return {person.id: person.name for person in gallery.people()}
    except GalleryMissing:
        return {}
    except EdgefacedError as error:
        note(f"people are shown by their ids: {error}")
        return {}


def person_id_of(context: CliContext, name: str) -> str:
    """The id of somebody enrolled, or of somebody removed whose records are still there.

    Raises Refused where there is neither.
    """
    places = context.places
    try:
        with Gallery.open(places.gallery_file, places.key_file) as gallery:
            found = gallery.id_of(name)
    except GalleryMissing:
        found = None
    if found is not None:
        return found
    with opened_ledger(context) as ledger:
        if ledger is not None and next(read_book(ledger, EVER, name).punches(), None):
            return name
    raise Refused(f"{name} is not enrolled and has no records", "`edgefaced list` shows who is")


def written_to(target: Path) -> bool:
    """Whether a file is meant; "-" is stdout."""
    return str(target) != "-"
