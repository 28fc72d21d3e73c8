"""The ledger's SQL, inside the caller's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from edgefaced.errors import LedgerDamaged
from edgefaced.events import Event
from edgefaced.ledger.chain import Seals, content_of, digest_of, new_salt, same
from edgefaced.ledger.codec import decode, encode, kind_of, person_in
from edgefaced.ledger.records import Cursor, Head, Record

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def get_meta(db: sqlite3.Connection, key: str) -> bytes | None:
    found = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if found is None else bytes(found[0])


def set_meta(db: sqlite3.Connection, key: str, value: bytes) -> None:
    db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))


def head_row(db: sqlite3.Connection) -> tuple[Head, bytes | None]:
    """The head and its seal. Raises LedgerDamaged where there is none."""
    found = db.execute("SELECT position, digest, seal FROM head").fetchone()
    if found is None:
        raise LedgerDamaged("the ledger has no head", "move it away: a new one is begun")
    position, digest, seal = found
    return Head(position, digest), seal


def set_head(db: sqlite3.Connection, head: Head, seal: bytes | None) -> None:
    db.execute("DELETE FROM head")
    db.execute("INSERT INTO head VALUES (?, ?, ?)", (head.position, head.digest, seal))


def microseconds(moment: datetime) -> int:
    """Since 1970, exactly."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def append(db: sqlite3.Connection, seals: Seals, events: Sequence[Event]) -> tuple[Record, ...]:
    """Adds events to the chain; one that is there already (by its id) is not added again."""
    head, seal = head_row(db)
    # Whoever cut the chain off or rewrote it has no seal that fits. To seal it now would hide that.
    intact = same(seal, seals.head(head.position, head.digest))
    records = []
    for event in events:
        known = _known(db, event)
        if known is None:
            known = _insert(db, head, event)
            head = Head(known.position, known.digest)
            if event.synchronised:
                _mark(db, seals, known)
        records.append(known)
    set_head(db, head, seals.head(head.position, head.digest) if intact else None)
    return tuple(records)


def _known(db: sqlite3.Connection, event: Event) -> Record | None:
    row = db.execute("SELECT position, digest FROM records WHERE id = ?", (event.id,)).fetchone()
    return None if row is None else Record(row[0], event, row[1])


def _insert(db: sqlite3.Connection, head: Head, event: Event) -> Record:
    position, body, salt = head.position + 1, encode(event), new_salt()
    content = content_of(salt, body)
    digest = digest_of(head.digest, position, content)
    db.execute(
        "INSERT INTO records (position, id, kind, person, happened_us, salt, body, content, digest)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (position, *sought(event), salt, body, content, digest),
    )
    return Record(position, event, digest)


def sought(event: Event) -> tuple[str, str, str | None, int | None]:
    """What a record is looked up by: id, kind, person, and when, if the clock was right then."""
    happened = microseconds(event.utc) if event.synchronised else None
    return event.id, kind_of(event), person_in(event), happened


def _mark(db: sqlite3.Connection, seals: Seals, record: Record) -> None:
    event, utc_us = record.event, microseconds(record.event.utc)
    known = db.execute("SELECT 1 FROM marks WHERE boot = ?", (event.boot_id,)).fetchone()
    if known is None and event.boot_id:
        place = (event.boot_id, event.monotonic_ns, utc_us, event.utc_offset_seconds)
        db.execute(
            "INSERT INTO marks (boot, position, monotonic_ns, utc_us, utc_offset_seconds, seal)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (place[0], record.position, *place[1:], seals.mark(*place)),
        )


def readable(rows: Iterable[tuple[int, bytes, bytes]]) -> Iterator[Record]:
    """Records of (position, body, digest); one whose body is no record is passed over: `verify`
    names it.
    """
    for position, body, digest in rows:
        try:
            yield Record(position, decode(body), digest)
        except LedgerDamaged:
            continue


def after(db: sqlite3.Connection, position: int, limit: int) -> list[tuple[int, bytes, bytes]]:
    """Position, body and digest of what lies behind a position and was not redacted."""
    return db.execute(
        "SELECT position, body, digest FROM records"
        " WHERE position > ? AND body IS NOT NULL ORDER BY position LIMIT ?",
        (position, limit),
    ).fetchall()


def cursors(db: sqlite3.Connection) -> dict[str, Cursor]:
    found = db.execute("SELECT sink, position, lost FROM cursors").fetchall()
    return {sink: Cursor(position, lost) for sink, position, lost in found}


def settle_cursors(db: sqlite3.Connection, sinks: Collection[str]) -> None:
    """Exactly these sinks have a cursor, a new one at the head."""
    for gone in cursors(db).keys() - set(sinks):
        db.execute("DELETE FROM cursors WHERE sink = ?", (gone,))
    for sink in sinks:
        db.execute(
            "INSERT INTO cursors (sink, position) SELECT ?, position FROM head"
            " WHERE true ON CONFLICT (sink) DO NOTHING",
            (sink,),
        )


def advance(db: sqlite3.Connection, sink: str, position: int) -> None:
    """A cursor never goes back."""
    db.execute(
        "INSERT INTO cursors (sink, position) VALUES (?, ?)"
        " ON CONFLICT (sink) DO UPDATE SET position = max(position, excluded.position)",
        (sink, position),
    )
