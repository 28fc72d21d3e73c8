"""The ledger: events in the order in which they were recorded, and how far each sink has got.

    events.db         records, gaps, cursors (WAL, mode 0600)
    events.key        32 random bytes (mode 0600) that seal the head of the chain

Several processes may hold it open at once: whoever commits first is first in the chain.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType

from edgefaced.errors import EdgefacedError, LedgerDamaged, LedgerError
from edgefaced.events import Event
from edgefaced.ledger import rows
from edgefaced.ledger.chain import Seals, genesis, same
from edgefaced.ledger.database import Database, create, set_aside_log
from edgefaced.ledger.records import Cursor, Head, Record
from edgefaced.ledger.retention import Purge, Retention, purge
from edgefaced.storage import files, keyfile
from edgefaced.storage.sqlite import BUSY_SECONDS


class Ledger:
    """An open ledger; used and closed by the thread that opened it."""

    def __init__(self, database: Database, seals: Seals, key_fault: str) -> None:
        self.database = database
        self.seals = seals
        self.key_fault = key_fault
        """Why there is no key, and so no seal; empty where there is one."""

    @classmethod
    def open(
        cls, path: Path, *, create: bool = False, busy_seconds: float = BUSY_SECONDS
    ) -> Ledger:
        """Opens a ledger, or starts one with `create`.

        Without its key it can be used, and `verify` says that it is not sealed any more. Raises
        LedgerMissing, LedgerDamaged, LedgerTooNew, LedgerBusy, LedgerFull or LedgerError.
        """
        if create:
            start(path)
        database = Database(path, busy_seconds)
        try:
            with database.reading() as db:
                seals, key_fault = _seals(db, key_file_of(path))
        except BaseException:
            database.close()
            raise
        return cls(database, seals, key_fault)

    def append(self, events: Sequence[Event]) -> tuple[Record, ...]:
        """Records events, all or none, durably when this returns; by their ids only once.

        Raises LedgerFull, LedgerBusy or LedgerError; then nothing was recorded.
        """
        with self.database.writing() as db:
            return rows.append(db, self.seals, events)

    def append_and_advance(
        self, events: Sequence[Event], sink: str, position: int
    ) -> tuple[Record, ...]:
        """Records events and moves a sink's cursor in one transaction.

        Nothing is done where the cursor is there already: another process was faster.
        """
        with self.database.writing() as db:
            if rows.cursors(db).get(sink, Cursor(0, 0)).position >= position:
                return ()
            records = rows.append(db, self.seals, events)
            rows.advance(db, sink, position)
            return records

    def after(self, position: int, limit: int = 256) -> tuple[Record, ...]:
        """The next records behind a position; what was purged or redacted is not among them."""
        while True:
            with self.database.reading() as db:
                found = rows.after(db, position, limit)
            records = tuple(rows.readable(found))
            if records or not found:
                return records
            position = found[-1][0]  # none of these can be read: on to the next ones

    @property
    def id(self) -> bytes:
        """Differs from that of every other ledger."""
        return self.seals.ledger_id

    def refuse_replaced(self) -> None:
        """Raises LedgerError where the file is not at its path any more; costs microseconds."""
        self.database.refuse_replaced()

    def head(self) -> Head:
        """The last place of the chain."""
        with self.database.reading() as db:
            return rows.head_row(db)[0]

    def cursors(self) -> dict[str, Cursor]:
        """How far every sink has got."""
        with self.database.reading() as db:
            return rows.cursors(db)

    def position_of(self, sink: str) -> int:
        """Up to where a sink has taken everything; 0 for a new one."""
        return self.cursors().get(sink, Cursor(0, 0)).position

    def advance(self, sink: str, position: int) -> None:
        """Moves a cursor forward. Survives the end of the process; a power cut may undo it, which
        makes the sink get those events again.
        """
        with self.database.writing(synced=False) as db:
            rows.advance(db, sink, position)

    def knows_person(self, person_id: str) -> bool:
        """Whether any record is about somebody."""
        with self.database.reading() as db:
            found = db.execute("SELECT 1 FROM records WHERE person = ? LIMIT 1", (person_id,))
            return found.fetchone() is not None

    def knows_kind(self, kind: str) -> bool:
        """Whether anything of a kind was ever recorded and has not been purged since."""
        with self.database.reading() as db:
            found = db.execute("SELECT 1 FROM records WHERE kind = ? LIMIT 1", (kind,))
            return found.fetchone() is not None

    def settle_cursors(self, sinks: Collection[str]) -> None:
        """Sinks that are new begin behind what is there now; those that are gone are forgotten."""
        with self.database.writing() as db:
            rows.settle_cursors(db, sinks)

    def purge(self, retention: Retention, *, now_us: int | None, holders: Collection[str]) -> Purge:
        """Leaves out a portion of what need not be kept; see `edgefaced.ledger.retention`."""
        return purge(self.database, self.seals, retention, now_us=now_us, holders=holders)

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def key_file_of(path: Path) -> Path:
    """The key lies beside the ledger."""
    return path.with_suffix(".key")


def start(path: Path) -> None:
    """A new, empty ledger where there is none; what an interrupted start left is swept."""
    if path.exists():
        return
    try:
        with files.alone_in(path.parent):
            files.sweep(path)
            files.sweep(key_file_of(path))
            if path.exists():
                return
            set_aside_log(path)
            key = keyfile.read_or_create_key(key_file_of(path), "ledger")
            ledger_id = secrets.token_bytes(16)

            def fill(db: sqlite3.Connection) -> None:
                seals, digest = Seals(key, ledger_id), genesis(ledger_id)
                rows.set_meta(db, "ledger_id", ledger_id)
                rows.set_meta(db, "key_check", seals.check() or b"")
                rows.set_head(db, Head(0, digest), seals.head(0, digest))

            create(path, fill)
    except LedgerError:
        raise
    except EdgefacedError as error:
        raise LedgerError(error.message, error.hint) from error


def _seals(db: sqlite3.Connection, key_file: Path) -> tuple[Seals, str]:
    ledger_id, key_check = rows.get_meta(db, "ledger_id"), rows.get_meta(db, "key_check")
    if ledger_id is None or key_check is None:
        raise LedgerDamaged("the ledger has no id", "move it away: a new one is begun")
    try:
        seals = Seals(keyfile.read_key(key_file, "ledger"), ledger_id)
    except EdgefacedError as error:
        return Seals(None, ledger_id), error.message
    if not same(key_check, seals.check()):
        return Seals(None, ledger_id), f"{key_file} is not the key of this ledger"
    return seals, ""
