"""One connection to the ledger's SQLite file, used by one thread."""

from __future__ import annotations

import glob
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from edgefaced.errors import LedgerBusy
from edgefaced.ledger import schema
from edgefaced.ledger.schema import ERRORS
from edgefaced.storage import database
from edgefaced.storage.sqlite import BUSY_SECONDS, WRITER, transaction, translated

PAGE_BYTES = 4096
"""A commit syncs whole pages: with small ones an event costs a flash card least."""

WAL_PAGES = 250
"""The WAL goes home every megabyte."""

ASIDE = ".orphan-"

PRAGMAS = (*WRITER, f"wal_autocheckpoint = {WAL_PAGES}")


class Database:
    """Read and write transactions on an existing ledger file; used by one thread."""

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self._identity = database.identity(path, ERRORS)
        database.tighten(path)
        self.connection = database.opened(path, schema.SCHEMA, PRAGMAS, seconds=busy_seconds)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def writing(self, *, synced: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed durably, or leaves nothing. Raises LedgerBusy.

        Without `synced` a power cut may undo it (and nothing that came before it).
        """
        self.refuse_replaced()
        with translated(self.path, ERRORS):
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            with transaction(self.connection, "BEGIN IMMEDIATE"):
                yield self.connection

    def empty_log(self, seconds: float) -> bool:
        """Takes what is in the log home, and cuts it off; False while others read or write.

        Whoever records waits for it: `seconds` are few.
        """
        execute = self.connection.execute
        (before,) = execute("PRAGMA busy_timeout").fetchone()
        try:
            with translated(self.path, ERRORS):
                execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
                (busy, _, _) = execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not busy
        except LedgerBusy:
            return False
        finally:
            execute(f"PRAGMA busy_timeout = {before}")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent state of the ledger; keep it short, it holds back scrubbing."""
        with translated(self.path, ERRORS), transaction(self.connection, "BEGIN"):
            yield self.connection

    def used_bytes(self) -> int:
        """What the records take; pages that a purge has freed are used again."""
        return self._bytes("page_count") - self.free_bytes()

    def free_bytes(self) -> int:
        """What is free inside the file."""
        return self._bytes("freelist_count")

    def _bytes(self, pages: str) -> int:
        with translated(self.path, ERRORS):
            (count,) = self.connection.execute(f"PRAGMA {pages}").fetchone()
        return int(count) * PAGE_BYTES

    def refuse_replaced(self) -> None:
        """Raises LedgerError where the path no longer leads to the file that is open here."""
        database.refuse_replaced(self.path, self._identity, ERRORS)


def create(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """A new ledger file, whole or not at all; of several processes one creates it."""
    database.create(path, schema.SCHEMA, (f"page_size = {PAGE_BYTES}", *PRAGMAS), fill)


def set_aside_log(path: Path) -> None:
    """Moves the log of a file that was taken away out of the way of the next one of that name.

    SQLite would take it for the new file's own. It may hold the old one's last records: it is kept.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        if log.exists():
            log.rename(log.with_name(f"{log.name}{ASIDE}{secrets.token_hex(4)}"))
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    except OSError as error:
        raise ERRORS.system(str(log), error) from error


def logs_set_aside(path: Path) -> list[Path]:
    """Logs of ledgers that were once at this path; a person must say what they are for."""
    return sorted(path.parent.glob(f"{glob.escape(path.name)}-wal{ASIDE}*"))
