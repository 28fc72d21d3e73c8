"""A connection to an SQLite file that is durable, scrubbing, and honest about errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from edgefaced.storage.errors import FileErrors

BUSY_SECONDS = 5.0

READER = (
    "trusted_schema = OFF",
    "temp_store = MEMORY",  # VACUUM's copy must not land in a temporary file
)
WRITER = ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", *READER)


def connect(path: Path, mode: str = "mode=rw", seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """A connection that waits so long for others' locks; no mode of ours creates a file."""
    # isolation_level None: we say BEGIN and COMMIT ourselves.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None, timeout=seconds
    )


def configure(connection: sqlite3.Connection, pragmas: Sequence[str]) -> None:
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}").fetchall()


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Committed at the end of the block; whatever ends it otherwise leaves nothing."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translated(path: Path, errors: FileErrors) -> Iterator[None]:
    """Turns SQLite's errors into ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _as_ours(error, path, errors) from error


def _as_ours(error: sqlite3.DatabaseError, path: Path, errors: FileErrors) -> Exception:
    name: str = getattr(error, "sqlite_errorname", "")
    if not name:
        return error  # the module's own complaint (wrong thread, closed): a fault of the caller
    # PROTOCOL: so many tries to share the log with others have failed that SQLite gave up.
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return errors.busy.says(f"{path} is locked by another process")
    if name.startswith("SQLITE_FULL"):
        return errors.full.says(f"{path}: the disk is full")
    storage = ("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
    if name.startswith(storage):
        return errors.refused.says(f"{path}: {error}")
    return errors.damaged.says(f"{path} is damaged: {error}")
