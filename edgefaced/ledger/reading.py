"""Looking records up, each with the best that is known of its time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from edgefaced.core.clocks import ClockMark, Dated, dated
from edgefaced.events import Event
from edgefaced.ledger import rows
from edgefaced.ledger.records import Record
from edgefaced.ledger.store import Ledger

PAGE = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records; None is no condition. `until` is not part of the time itself."""

    since: datetime | None = None
    until: datetime | None = None
    kinds: tuple[str, ...] = ()
    person_id: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A record and when it happened."""

    record: Record
    when: Dated


def entries(ledger: Ledger, wanted: Wanted, *, after: int = 0) -> Iterator[Entry]:
    """The wanted records behind a position, in their order; read page by page."""
    while True:
        with ledger.database.reading() as db:
            found = _page(db, wanted, after)
            marks = marks_of(db)
        for record in rows.readable(found):
            entry = Entry(record, when(record.event, marks))
            if _in_time(entry, wanted):
                yield entry
        if len(found) < PAGE:
            return
        after = found[-1][0]


def last_entries(ledger: Ledger, wanted: Wanted, count: int) -> list[Entry]:
    """The newest of the wanted records, oldest first."""
    newest: list[Entry] = []
    before = None
    while len(newest) < count:
        with ledger.database.reading() as db:
            found = _page(db, wanted, before, newest_first=True)
            marks = marks_of(db)
        some = (Entry(record, when(record.event, marks)) for record in rows.readable(found))
        newest += [entry for entry in some if _in_time(entry, wanted)]
        if len(found) < PAGE:
            break
        before = found[-1][0]
    return newest[:count][::-1]


def when(event: Event, marks: dict[str, ClockMark]) -> Dated:
    """The best that is known of an event's time."""
    return dated(
        event.utc,
        event.utc_offset_seconds,
        monotonic_ns=event.monotonic_ns,
        synchronised=event.synchronised,
        mark=marks.get(event.boot_id),
    )


def marks_of(db: sqlite3.Connection) -> dict[str, ClockMark]:
    """Per boot the first event that came when the clock was right."""
    found = db.execute("SELECT boot, monotonic_ns, utc_us, utc_offset_seconds FROM marks")
    return {
        boot: ClockMark(monotonic_ns, rows.EPOCH + timedelta(microseconds=utc_us), offset)
        for boot, monotonic_ns, utc_us, offset in found.fetchall()
    }


def _page(
    db: sqlite3.Connection, wanted: Wanted, bound: int | None, *, newest_first: bool = False
) -> list[tuple[int, bytes, bytes]]:
    conditions, arguments = ["body IS NOT NULL"], list[object]()
    if bound is not None:
        conditions.append("position < ?" if newest_first else "position > ?")
        arguments.append(bound)
    if wanted.kinds:
        conditions.append(f"kind IN ({', '.join('?' * len(wanted.kinds))})")
        arguments += wanted.kinds
    if wanted.person_id is not None:
        conditions.append("person = ?")
        arguments.append(wanted.person_id)
    # A record of an unsynchronised clock may have to be reckoned back: it is judged later.
    if wanted.since is not None:
        conditions.append("(happened_us IS NULL OR happened_us >= ?)")
        arguments.append(rows.microseconds(wanted.since))
    if wanted.until is not None:
        conditions.append("(happened_us IS NULL OR happened_us < ?)")
        arguments.append(rows.microseconds(wanted.until))
    order = "DESC" if newest_first else "ASC"
    return db.execute(
        f"SELECT position, body, digest FROM records WHERE {' AND '.join(conditions)}"  # noqa: S608 - fixed texts
        f" ORDER BY position {order} LIMIT {PAGE}",
        arguments,
    ).fetchall()


def _in_time(entry: Entry, wanted: Wanted) -> bool:
    moment = entry.when.utc
    return (wanted.since is None or wanted.since <= moment) and (
        wanted.until is None or moment < wanted.until
    )
