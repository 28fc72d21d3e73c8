"""Leaving nothing of what was taken out, while others go on recording.

Zeroed rows are not enough: rows that SQLite moved between pages earlier can have left copies in the
unused part of a page. VACUUM would drop those, but nobody records meanwhile, and then no door
opens. So all records move to a new table, portion by portion, the two change names, and the old
one is emptied: its pages are overwritten when they are given back. Every step is a transaction of
milliseconds, after which the file is left to others for as long as it took.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import suppress

from edgefaced.errors import LedgerBusy, LedgerFull
from edgefaced.ledger.database import Database
from edgefaced.ledger.schema import RECORDS, records_indexes, records_table
from edgefaced.ledger.turn import sole_reader

PORTION = 200
NEXT, OLD = "records_next", "records_old"
SUFFIX = "_b"
"""Of every second table's indexes."""

RESERVE_BYTES = 16_000_000
"""Of the disk, which are not taken for a second copy."""

LOG_TRIES, LOG_SECONDS = 15, 0.1
"""For a moment without readers; whoever records waits as well during a try."""


def renew(database: Database) -> bool:
    """Whether nothing of removed records is left in the files.

    False where another process is reading all the time or renewing, or the disk has no room for
    the records a second time; calling it again goes on.
    """
    try:
        with sole_reader(database.path, "renewal"):
            _discard(database, NEXT)
            _discard(database, OLD)
            if not _has_room(database):
                return False
            _begin(database)
            last = 0
            while (copied := _copy(database, last)) is not None:
                last = copied
            _exchange(database, last)
            _discard(database, OLD)
    except LedgerFull:
        with suppress(LedgerFull, LedgerBusy):
            _discard(database, NEXT)  # whoever records has the room then, inside the file
        return False
    except LedgerBusy:
        return False
    return _empty_log(database)


def _has_room(database: Database) -> bool:
    """Whether all records fit on the disk once more, and enough is left to whoever records."""
    free = shutil.disk_usage(database.path.parent).free + database.free_bytes()
    return free >= 1.25 * database.used_bytes() + RESERVE_BYTES


def rest(started: float) -> None:
    """Leaves the file to others for as long as it was ours."""
    time.sleep(time.perf_counter() - started)


def _begin(database: Database) -> None:
    """An empty table, in which what happens to copied records happens as well."""
    with database.writing(synced=False) as db:
        names = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ?"
        taken = [name for (name,) in db.execute(names, (RECORDS,)).fetchall()]
        suffix = "" if any(name.endswith(SUFFIX) for name in taken) else SUFFIX
        columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({RECORDS})").fetchall()]
        changed = ", ".join(f"{name} = NEW.{name}" for name in columns)
        row = "WHERE position = OLD.position"
        follow = (
            ("record_gone", f"DELETE ON {RECORDS} BEGIN DELETE FROM {NEXT} {row}"),  # noqa: S608 - fixed texts
            ("record_changed", f"UPDATE ON {RECORDS} BEGIN UPDATE {NEXT} SET {changed} {row}"),  # noqa: S608 - likewise
        )
        for statement in (
            records_table(NEXT),
            *records_indexes(NEXT, suffix),
            *(f"CREATE TRIGGER {name} AFTER {does}; END" for name, does in follow),
        ):
            db.execute(statement)


def _copy(database: Database, last: int) -> int | None:
    """The next records behind a position; up to where, None where fewer than that are left."""
    started = time.perf_counter()
    with database.writing(synced=False) as db:
        ends = db.execute(
            f"SELECT position FROM {RECORDS} WHERE position > ? ORDER BY position LIMIT 1 OFFSET ?",  # noqa: S608 - fixed texts
            (last, PORTION - 1),
        ).fetchone()
        if ends is None:
            return None
        _copy_rows(db, last, ends[0])
    rest(started)
    return int(ends[0])


def _copy_rows(db: sqlite3.Connection, after: int, up_to: int) -> None:
    db.execute(
        f"INSERT INTO {NEXT} SELECT * FROM {RECORDS} WHERE position > ? AND position <= ?",  # noqa: S608 - fixed texts
        (after, up_to),
    )


def _exchange(database: Database, last: int) -> None:
    """Copies what is left and gives the new table the name; nobody comes between."""
    with database.writing(synced=False) as db:
        _copy_rows(db, last, 1 << 62)
        db.execute("DROP TRIGGER record_gone")
        db.execute("DROP TRIGGER record_changed")
        db.execute(f"ALTER TABLE {RECORDS} RENAME TO {OLD}")
        db.execute(f"ALTER TABLE {NEXT} RENAME TO {RECORDS}")


def _discard(database: Database, table: str) -> None:
    """Empties a table and takes it away, if it is there; also one of a process that was killed."""
    with database.writing(synced=False) as db:
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is None:
            return
        db.execute("DROP TRIGGER IF EXISTS record_gone")
        db.execute("DROP TRIGGER IF EXISTS record_changed")
    while _discard_rows(database, table):
        pass
    with database.writing(synced=False) as db:
        db.execute(f"DROP TABLE {table}")


def _discard_rows(database: Database, table: str) -> int:
    started = time.perf_counter()
    with database.writing(synced=False) as db:
        gone = db.execute(
            f"DELETE FROM {table} WHERE position IN"  # noqa: S608 - fixed texts
            f" (SELECT position FROM {table} ORDER BY position LIMIT {PORTION})"
        ).rowcount
    rest(started)
    return gone


def _empty_log(database: Database) -> bool:
    for _ in range(LOG_TRIES):
        started = time.perf_counter()
        if database.empty_log(LOG_SECONDS):
            return True
        rest(started)
    return False
