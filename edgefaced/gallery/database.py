"""One connection to the gallery's SQLite file: durable, scrubbing, and honest about errors."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from edgefaced.errors import (
    GalleryBusy,
    GalleryDamaged,
    GalleryError,
    GalleryMissing,
    StorageError,
)
from edgefaced.gallery import keyfile, schema

BUSY_SECONDS = 5.0
PAGE_BYTES = 8192
"""Three templates of 512 numbers fit a page; of SQLite's usual 4096 bytes one would waste half."""

WAL_PAGES = 100
"""The WAL goes home every 800 kB; a gallery is written rarely, and a small disk fills quickly."""


class Database:
    """Read and write transactions on an existing gallery file; used by one thread.

    Where the file or its folder cannot be written, or the disk is full, it is read as it lies
    there: SQLite could not make the files that it shares with other processes. `reading` then
    notices a change.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._patience = BUSY_SECONDS
        self._identity = _identity(path)
        self.writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
        self._still: tuple[int, int] | None = None
        """Of a file that is read without the protection of locks: its size and time of change."""
        if self.writable:
            _tighten(path)
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
        with translated(self.path):
            connection = _connect(self.path, self._mode())
            try:
                version = schema.version_of(connection, self.path)
                _configure(connection, WRITER if self.writable else READER)
                if version < schema.VERSION:
                    schema.migrate(connection, self.path)
            except BaseException:
                connection.close()
                raise
        return connection

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed durably, or leaves nothing. Raises GalleryBusy."""
        self.refuse_replaced()
        with translated(self.path), _transaction(self.connection, "BEGIN IMMEDIATE"):
            yield self.connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent state of the gallery; keep it short, it holds back scrubbing.

        Raises GalleryBusy where the file was changed under a reader that cannot lock it.
        """
        with translated(self.path), _transaction(self.connection, "BEGIN"):
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
        with translated(self.path):
            (others,) = self.connection.execute("PRAGMA data_version").fetchone()
        return int(others), self.connection.total_changes

    def wait_for_others(self, seconds: float) -> None:
        """How long each step waits for another process's lock, instead of BUSY_SECONDS."""
        self._patience = seconds
        self.connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def refuse_replaced(self) -> None:
        """Raises GalleryError where the path no longer leads to the file that is open here."""
        with suppress(GalleryMissing):
            if _identity(self.path) == self._identity:
                return
        raise GalleryError(
            f"{self.path} was replaced or deleted while in use", "start again to use the new file"
        )

    def rewrite(self, seconds: float = BUSY_SECONDS) -> bool:
        """Leaves only live records in the files; False where a reader or a full disk prevents it.

        `secure_delete` zeroes deleted rows, but rows that SQLite moved between pages earlier can
        have left copies in the unused part of a page: only VACUUM is sure to drop those. The WAL
        with the old pages goes when it is truncated, which waits for running readers.
        """
        execute = self.connection.execute
        try:
            with translated(self.path):
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
            with translated(self.path):
                self.connection.execute("VACUUM")
        except StorageError:
            return False
        return True


def create(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """A new gallery file, whole or not at all; of several processes one creates it."""
    try:
        keyfile.make_folder(path.parent)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as drafts:
            draft = Path(drafts) / path.name
            draft.touch(mode=0o600)
            with translated(path):
                connection = _connect(draft, "mode=rw")
                try:
                    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                    _configure(connection, WRITER)
                    with _transaction(connection, "BEGIN IMMEDIATE"):
                        schema.build(connection)
                        fill(connection)
                finally:
                    connection.close()  # the last one out: checkpoints, syncs, removes the WAL
            keyfile.adopt(draft, path.parent)
            keyfile.link(draft, path)
    except OSError as error:
        raise StorageError(f"{path} cannot be created: {error.strerror}") from error


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
    # PROTOCOL: so many tries to share the log with others have failed that SQLite gave up.
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return GalleryBusy(f"{path} is locked by another process", "try again")
    if name.startswith("SQLITE_FULL"):
        return StorageError(f"{path}: the disk is full", "nothing was changed; make room")
    storage = ("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
    if name.startswith(storage):
        return StorageError(f"{path}: {error}", "nothing was changed; check the disk and the modes")
    return GalleryDamaged(f"{path} is damaged: {error}", "restore it from `gallery export`")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # isolation_level None: we say BEGIN and COMMIT ourselves.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None, timeout=BUSY_SECONDS
    )


READER = ("foreign_keys = ON", "trusted_schema = OFF", "temp_store = MEMORY")
WRITER = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    f"wal_autocheckpoint = {WAL_PAGES}",
    *READER,  # temp_store: VACUUM's copy must not land in a temporary file
)


def _configure(connection: sqlite3.Connection, pragmas: Sequence[str]) -> None:
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _has_log(path: Path) -> bool:
    """Whether there may be changes that are not in the file itself."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


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
        raise GalleryMissing(
            f"there is no gallery at {path}", "`edgefaced enroll` starts one"
        ) from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error
    return status.st_dev, status.st_ino
