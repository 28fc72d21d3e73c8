"""Corrections: checked against what is recorded, then recorded themselves with a reason."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from edgefaced.attendance.records import correction_of
from edgefaced.core.attendance import Punch
from edgefaced.core.attendance_book import Book
from edgefaced.errors import Refused, UsageError
from edgefaced.events import AttendanceCorrected, Event
from edgefaced.gallery.names import checked_note
from edgefaced.ledger.store import Ledger
from edgefaced.types import CorrectionKind, Direction

PLACE = "command line"
"""Where the event of a correction comes from, instead of a camera."""

SHORTEST_PREFIX = 8

EARLIEST_YEAR = 1970
"""Also keeps off the calendar's ends, where a zone's offset leads out of it."""


def moment_in(text: str, zone: tzinfo, now: datetime) -> datetime:
    """UTC of a time as people write it: "2026-03-02 17:00", local unless it has an offset.

    Raises UsageError for what is no time, for one that the zone's clocks skip or show twice that
    day, and for one that is still to come.
    """
    try:
        written = datetime.fromisoformat(text)
        if written.year < EARLIEST_YEAR:
            raise ValueError(text)
    except ValueError:
        raise UsageError(f"{text} is no time", 'like "2026-03-02 17:00"') from None
    if len(text.strip()) <= len("2026-03-02"):
        raise UsageError(f"{text} is a day without a time", 'like "2026-03-02 17:00"')
    moment = written.astimezone(UTC) if written.tzinfo else _local(written, zone, text)
    if moment > now:
        raise UsageError(f"{text} is still to come")
    return moment


def _local(written: datetime, zone: tzinfo, text: str) -> datetime:
    first = written.replace(tzinfo=zone, fold=0).astimezone(UTC)
    second = written.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if first == second:
        return first
    shown = first.astimezone(zone)
    if shown.replace(tzinfo=None) != written:
        raise UsageError(f"the clocks skipped {text}", "they were put forward that day")
    raise UsageError(
        f"the clocks showed {text} twice",
        f"say which: {shown.isoformat()} or {second.astimezone(zone).isoformat()}",
    )


def record_named(book: Book, name: str) -> Punch:
    """The record of an id, or of an unmistakable beginning of one. Raises Refused, UsageError."""
    if len(name) < SHORTEST_PREFIX:
        raise UsageError(f"{name} is too short for a record's id", "`attendance list` shows ids")
    found = [p for p in book.punches() if p.record_id.startswith(name.lower())]
    if len(found) != 1:
        problem = "fits several records" if found else "is no record of attendance"
        raise Refused(f"{name} {problem}", "`edgefaced attendance list` shows ids")
    return found[0]


def addition(person_id: str, direction: Direction, at: datetime, reason: str, by: str) -> Event:
    """A record that nobody's face made. Raises UsageError for what is no reason or nobody."""
    return _event(CorrectionKind.ADD, "", person_id, direction, at, reason, by)


def voiding(punch: Punch, reason: str, by: str) -> Event:
    """Takes a record back. Raises Refused where that was done before, UsageError."""
    _refuse_void(punch)
    return _event(CorrectionKind.VOID, punch.record_id, punch.person_id, None, None, reason, by)


def change(
    punch: Punch, direction: Direction | None, at: datetime | None, reason: str, by: str
) -> Event:
    """Another direction or time. Raises Refused where that changes nothing, UsageError."""
    _refuse_void(punch)
    new_direction = None if direction is punch.direction else direction
    new_at = None if at == punch.moment.utc else at
    if new_direction is None and new_at is None:
        raise Refused(f"that is what record {punch.record_id} says already")
    kind = CorrectionKind.CHANGE
    return _event(kind, punch.record_id, punch.person_id, new_direction, new_at, reason, by)


def record_correction(ledger: Ledger, book: Book, event: Event) -> Punch:
    """Records a correction durably and applies it; the record as it now stands."""
    corrected = event.happening
    assert isinstance(corrected, AttendanceCorrected)  # noqa: S101 - made above
    ledger.append([event])
    book.correct(correction_of(event, corrected))
    punch = book.find(corrected.of_record or event.id)
    assert punch is not None  # noqa: S101 - it was in the book, or was added to it
    return punch


def _refuse_void(punch: Punch) -> None:
    if punch.void:
        raise Refused(f"record {punch.record_id} was taken back", "`correct add` makes another one")


def _event(
    kind: CorrectionKind,
    of_record: str,
    person_id: str,
    direction: Direction | None,
    at: datetime | None,
    reason: str,
    by: str,
) -> Event:
    corrected = AttendanceCorrected(
        kind, of_record, person_id, direction, at, _said(reason, "a reason"), _said(by, "a name")
    )
    return Event(corrected, PLACE)


def _said(text: str, what: str) -> str:
    """Raises UsageError for what is empty, too long or has control characters."""
    line = " ".join(text.split())
    if not line:
        raise UsageError(f"{what} is needed", "it stays with the correction")
    return checked_note(line)
