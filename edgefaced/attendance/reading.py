"""The ledger's records of attendance, corrected, as a book."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from edgefaced.attendance.records import correction_of, punch_of
from edgefaced.core.attendance import Correction
from edgefaced.core.attendance_book import Book
from edgefaced.events import AttendanceCorrected, Attended
from edgefaced.ledger.reading import Wanted, entries
from edgefaced.ledger.store import Ledger
from edgefaced.types import CorrectionKind

MARGIN = timedelta(days=3)
"""Read on either side of a period: a working day is not a day of UTC, and a shift may begin before.
"""


@dataclass(frozen=True, slots=True)
class Period:
    """Working days, both included."""

    first: date
    last: date

    def since(self) -> datetime:
        """From when on there may be records of it."""
        return _midnight(max(self.first, date(1, 1, 10))) - MARGIN

    def until(self) -> datetime:
        return _midnight(min(self.last, date(9999, 12, 20))) + MARGIN


EVER = Period(date.min, date.max)


def read_book(ledger: Ledger, period: Period = EVER, person_id: str | None = None) -> Book:
    """Everything that may belong to a period, of everybody or of one person."""
    since, until = (None, None) if period == EVER else (period.since(), period.until())
    corrections = list(_corrections(ledger, person_id))
    # A date that was put right may bring a record in from anywhere.
    moved = {
        c.person_id for c in corrections if c.kind is CorrectionKind.CHANGE and c.at is not None
    }
    book = Book()
    wanted = Wanted(since, until, ("attendance",), person_id)
    _take(book, ledger, wanted, without=moved if since else set())
    if since:
        for person in sorted(moved):
            _take(book, ledger, Wanted(kinds=("attendance",), person_id=person), without=set())
    for correction in corrections:
        book.correct(correction)
    return book


def _take(book: Book, ledger: Ledger, wanted: Wanted, *, without: set[str]) -> None:
    for entry in entries(ledger, wanted):
        attended = entry.record.event.happening
        if isinstance(attended, Attended) and attended.person_id not in without:
            book.take(punch_of(entry.record.event, attended, entry.when))


def _corrections(ledger: Ledger, person_id: str | None) -> Iterator[Correction]:
    for entry in entries(ledger, Wanted(kinds=("correction",), person_id=person_id)):
        corrected = entry.record.event.happening
        if isinstance(corrected, AttendanceCorrected):
            yield correction_of(entry.record.event, corrected)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
