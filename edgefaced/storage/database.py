"""An SQLite file of ours: made whole or not at all, opened in its schema, noticed when replaced."""

from __future__ import annotations

import sqlite3
import stat
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from edgefaced.storage import files
from edgefaced.storage.errors import FileErrors
from edgefaced.storage.schema import Schema
from edgefaced.storage.sqlite import BUSY_SECONDS, configure, connect, transaction, translated


def create(
    path: Path, schema: Schema, pragmas: Sequence[str], fill: Callable[[sqlite3.Connection], None]
) -> None:
    """A new file, whole or not at all; of several processes one creates it."""
    try:
        files.make_folder(path.parent)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as drafts:
            draft = Path(drafts) / path.name
            draft.touch(mode=0o600)
            with translated(path, schema.errors):
                connection = connect(draft)
                try:
                    configure(connection, pragmas)
                    with transaction(connection, "BEGIN IMMEDIATE"):
                        schema.build(connection)
                        fill(connection)
                finally:
                    connection.close()  # the last one out: checkpoints, syncs, removes the WAL
            files.adopt(draft, path.parent)
            files.link(draft, path)
    except OSError as error:
        raise schema.errors.system(f"{path} cannot be created", error) from error


def opened(
    path: Path,
    schema: Schema,
    pragmas: Sequence[str],
    *,
    mode: str = "mode=rw",
    seconds: float = BUSY_SECONDS,
) -> sqlite3.Connection:
    """A connection to a file that is there, brought up to date where its schema is an older one."""
    with translated(path, schema.errors):
        connection = connect(path, mode, seconds)
        try:
            version = schema.version_of(connection, path)
            configure(connection, pragmas)
            if version < schema.version:
                schema.migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def tighten(path: Path) -> None:
    """Mode 0600 again for a file that was restored or copied with another one."""
    with suppress(PermissionError):  # not ours to change; SQLite says what cannot be read
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)


def identity(path: Path, errors: FileErrors) -> tuple[int, int]:
    """Device and inode of a file. Raises `errors.missing`."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise errors.missing.says(f"there is no {errors.what} at {path}") from None
    except OSError as error:
        raise errors.system(str(path), error) from error
    return status.st_dev, status.st_ino


def refuse_replaced(path: Path, known: tuple[int, int], errors: FileErrors) -> None:
    """Raises `errors.replaced` where the path no longer leads to the file that was opened."""
    with suppress(errors.missing.kind):
        if identity(path, errors) == known:
            return
    raise errors.replaced.says(f"{path} was replaced or deleted while in use")
