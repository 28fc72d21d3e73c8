"""One connection to the gallery's SQLite file, which may lie where nothing can be written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from edgefaced.errors import GalleryBusy, StorageError
from edgefaced.gallery import schema
from edgefaced.gallery.schema import ERRORS
from edgefaced.storage import database, sqlite
from edgefaced.storage.sqlite import BUSY_SECONDS, transaction, translated

PAGE_BYTES = 8192
"""Three templates of 512 numbers fit a page; of SQLite's usual 4096 bytes one would waste half."""

WAL_PAGES = 100
"""The WAL goes home every 800 kB; a gallery is written rarely, and a small disk fills quickly."""

READER = (*sqlite.READER, "foreign_keys = ON")
WRITER = (*sqlite.WRITER, "foreign_keys = ON", f"wal_autocheckpoint = {WAL_PAGES}")


class Database:
    """Read and write transactions on an existing gallery file; used by one thread.

    Where the file or its folder cannot be written, or the disk is full, it is read as it lies
    there: SQLite could not make the files that it shares with other processes. `reading` then
    notices a change.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._patience = BUSY_SECONDS
        self._identity = database.identity(path, ERRORS)
        self.writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
        self._still: tuple[int, int] | None = None
        """Of a file that is read without the protection of locks: its size and time of change."""
        if self.writable:
            database.tighten(path)
        elif not _has_log(path):
            self._still = _state(path)
        elif not os.access(path.with_name(path.name + "-shm"), os.R_OK):
            raise StorageError(
                f"{path} cannot be written, and its last changes are still in {path.name}-wal",
                "open it once where it can be written (`edgefaced list`), then it can be read here",
            )
        try:
            self.connection = self._open()
        except StorageError:
            # On a full disk there is no room for those files either.
            if not self.writable or _has_log(path):
                raise
            self.writable, self._still = False, _state(path)
            self.connection = self._open()

    def _open(self) -> sqlite3.Connection:
        pragmas = WRITER if self.writable else READER
        return database.opened(self.path, schema.SCHEMA, pragmas, mode=self._mode())

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed durably, or leaves nothing. Raises GalleryBusy."""
        self.refuse_replaced()
        with translated(self.path, ERRORS), transaction(self.connection, "BEGIN IMMEDIATE"):
            yield self.connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent state of the gallery; keep it short, it holds back scrubbing.

        Raises GalleryBusy where the file was changed under a reader that cannot lock it.
        """
        with translated(self.path, ERRORS), transaction(self.connection, "BEGIN"):
            yield self.connection
        if self._still is not None and (_has_log(self.path) or _state(self.path) != self._still):
            raise GalleryBusy(f"{self.path} was changed while it was read", "try again")

    def _mode(self) -> str:
        # mode=rw and mode=ro: never create; immutable: there are no locks and no log to look for.
        if self.writable:
            return "mode=rw"
        return "mode=ro" if self._still is None else "mode=ro&immutable=1"

    def version(self) -> tuple[int, int]:
        """Differs after any commit, by another process or by this one; costs microseconds."""
        self.refuse_replaced()
        with translated(self.path, ERRORS):
            (others,) = self.connection.execute("PRAGMA data_version").fetchone()
        return int(others), self.connection.total_changes

    def wait_for_others(self, seconds: float) -> None:
        """How long each step waits for another process's lock, instead of BUSY_SECONDS."""
        self._patience = seconds
        self.connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def refuse_replaced(self) -> None:
        """Raises GalleryError where the path no longer leads to the file that is open here."""
        database.refuse_replaced(self.path, self._identity, ERRORS)

    def rewrite(self, seconds: float = BUSY_SECONDS) -> bool:
        """Leaves only live records in the files; False where a reader or a full disk prevents it.

        `secure_delete` zeroes deleted rows, but rows that SQLite moved between pages earlier can
        have left copies in the unused part of a page: only VACUUM is sure to drop those. The WAL
        with the old pages goes when it is truncated, which waits for running readers.
        """
        execute = self.connection.execute
        try:
            with translated(self.path, ERRORS):
                execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
                # First what is committed goes home: on a disk that is nearly full a second copy of
                # the gallery must not take the room that this needs.
                execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                compact = self._vacuum()
                (busy, _, _) = execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return compact and not busy
        except (GalleryBusy, StorageError):
            return False
        finally:
            execute(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")

    def _vacuum(self) -> bool:
        """False on a disk without room for a second copy: then zeroed rows must do for now."""
        try:
            with translated(self.path, ERRORS):
                self.connection.execute("VACUUM")
        except StorageError:
            return False
        return True


def create(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """A new gallery file, whole or not at all; of several processes one creates it."""
    database.create(path, schema.SCHEMA, (f"page_size = {PAGE_BYTES}", *WRITER), fill)


def _has_log(path: Path) -> bool:
    """Whether there may be changes that are not in the file itself."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
