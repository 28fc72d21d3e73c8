"""One connection to the ledger's SQLite file: durable, scrubbing, and honest about errors."""

from __future__ import annotations

import errno
import secrets
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edgefaced.errors import (
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerFull,
    LedgerMissing,
)
from edgefaced.gallery import keyfile
from edgefaced.ledger import schema

BUSY_SECONDS = 5.0

PAGE_BYTES = 4096
"""A commit syncs whole pages: with small ones an event costs a flash card least."""

WAL_PAGES = 250
"""The WAL goes home every megabyte."""


class Database:
    """Read and write transactions on an existing ledger file; used by one thread."""

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self._identity = _identity(path)
        _tighten(path)
        with translated(path):
            self.connection = _connect(path, busy_seconds)
            try:
                version = schema.version_of(self.connection, path)
                _configure(self.connection)
                if version < schema.VERSION:
                    schema.migrate(self.connection, path)
            except BaseException:
                self.connection.close()
                raise

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def writing(self, *, synced: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed durably, or leaves nothing. Raises LedgerBusy.

        Without `synced` a power cut may undo it (and nothing that came before it).
        """
        self.refuse_replaced()
        with translated(self.path):
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            with _transaction(self.connection, "BEGIN IMMEDIATE"):
                yield self.connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent state of the ledger; keep it short, it holds back scrubbing."""
        with translated(self.path), _transaction(self.connection, "BEGIN"):
            yield self.connection

    def used_bytes(self) -> int:
        """What the records take; pages that a purge has freed are used again."""
        with translated(self.path):
            (pages,) = self.connection.execute("PRAGMA page_count").fetchone()
            (free,) = self.connection.execute("PRAGMA freelist_count").fetchone()
            (size,) = self.connection.execute("PRAGMA page_size").fetchone()
        return int((pages - free) * size)

    def refuse_replaced(self) -> None:
        """Raises LedgerError where the path no longer leads to the file that is open here."""
        with suppress(LedgerMissing):
            if _identity(self.path) == self._identity:
                return
        raise LedgerError(
            f"{self.path} was replaced or deleted while in use", "it is opened anew at the next try"
        )

    def rewrite(self) -> bool:
        """Leaves only live records in the files; False where a reader or a full disk prevents it.

        Zeroed rows are not enough: rows that SQLite moved between pages earlier can have left
        copies in the unused part of a page.
        """
        execute = self.connection.execute
        try:
            with translated(self.path):
                execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                execute("VACUUM")
                (busy, _, _) = execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not busy
        except (LedgerBusy, LedgerFull):
            return False


def create(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """A new ledger file, whole or not at all; of several processes one creates it."""
    try:
        keyfile.make_folder(path.parent)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as drafts:
            draft = Path(drafts) / path.name
            draft.touch(mode=0o600)
            with translated(path):
                connection = _connect(draft)
                try:
                    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                    _configure(connection)
                    with _transaction(connection, "BEGIN IMMEDIATE"):
                        schema.build(connection)
                        fill(connection)
                finally:
                    connection.close()  # the last one out: checkpoints, syncs, removes the WAL
            keyfile.adopt(draft, path.parent)
            keyfile.link(draft, path)
    except OSError as error:
        raise refused(f"{path} cannot be created", error) from error


def set_aside_log(path: Path) -> None:
    """Moves the log of a file that was taken away out of the way of the next one of that name.

    SQLite would take it for the new file's own. It may hold the old one's last records: it is kept.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        if log.exists():
            log.rename(log.with_name(f"{log.name}.orphan-{secrets.token_hex(4)}"))
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    except OSError as error:
        raise refused(str(log), error) from error


def refused(what: str, error: OSError) -> LedgerError:
    """The error for something that the file system refused."""
    kind = LedgerFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else LedgerError
    return kind(f"{what}: {error.strerror}", "check the disk and the modes")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns SQLite's errors into ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _as_ours(error, path) from error


def _as_ours(error: sqlite3.DatabaseError, path: Path) -> Exception:
    name: str = getattr(error, "sqlite_errorname", "")
    if not name:
        return error  # the module's own complaint (wrong thread, closed): a fault of the caller
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LedgerBusy(f"{path} is locked by another process", "try again")
    if name.startswith("SQLITE_FULL"):
        return LedgerFull(f"{path}: the disk is full", "make room")
    storage = ("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
    if name.startswith(storage):
        return LedgerError(f"{path}: {error}", "check the disk and the modes")
    return LedgerDamaged(f"{path} is damaged: {error}", "move it away: a new one is begun")


def _connect(path: Path, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    # mode=rw: never creates; isolation_level None: we say BEGIN and COMMIT ourselves.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=busy_seconds
    )


def _configure(connection: sqlite3.Connection) -> None:
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "secure_delete = ON",
        "trusted_schema = OFF",
        f"wal_autocheckpoint = {WAL_PAGES}",
        "temp_store = MEMORY",  # VACUUM's copy must not land in a temporary file
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _tighten(path: Path) -> None:
    """Mode 0600 again for a file that was restored or copied with another one."""
    with suppress(PermissionError):  # not ours to change; SQLite says what cannot be read
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise LedgerMissing(f"there is no ledger at {path}", "`edgefaced run` starts one") from None
    except OSError as error:
        raise refused(str(path), error) from error
    return status.st_dev, status.st_ino
