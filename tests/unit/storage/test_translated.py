"""What SQLite and the file system say, in the errors of the gallery and of the ledger."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from edgefaced.errors import (
    EdgefacedError,
    GalleryBusy,
    GalleryDamaged,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerFull,
    StorageError,
)
from edgefaced.gallery import schema as gallery
from edgefaced.ledger import schema as ledger
from edgefaced.ledger.store import Ledger
from edgefaced.storage.errors import FileErrors
from edgefaced.storage.sqlite import translated

BUSY = ("SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_LOCKED", "SQLITE_PROTOCOL")
FULL = ("SQLITE_FULL",)
REFUSED = ("SQLITE_IOERR_WRITE", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")

CASES = [
    *((gallery.ERRORS, name, GalleryBusy) for name in BUSY),
    *((gallery.ERRORS, name, StorageError) for name in FULL + REFUSED),
    *((gallery.ERRORS, name, GalleryDamaged) for name in DAMAGED),
    *((ledger.ERRORS, name, LedgerBusy) for name in BUSY),
    *((ledger.ERRORS, name, LedgerFull) for name in FULL),
    *((ledger.ERRORS, name, LedgerError) for name in REFUSED),
    *((ledger.ERRORS, name, LedgerDamaged) for name in DAMAGED),
]


def complaint(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("errors", "name", "kind"), CASES, ids=[f"{e.what}-{n}" for e, n, _ in CASES]
)
def test_every_complaint_has_its_error(
    errors: FileErrors, name: str, kind: type[EdgefacedError]
) -> None:
    with pytest.raises(kind) as caught, translated(Path("some.db"), errors):
        raise complaint(name)
    assert type(caught.value) is kind
    assert caught.value.message.startswith("some.db")
    assert caught.value.hint


def test_a_ledger_that_many_share_is_busy_and_not_damaged(tmp_path: Path) -> None:
    """So its owner is not told to move a good ledger away."""
    with Ledger.open(tmp_path / "events.db", create=True) as opened:
        with (
            pytest.raises(LedgerBusy, match=r"locked by another process.*try again") as caught,
            opened.database.writing(),
        ):
            raise complaint("SQLITE_PROTOCOL")
        assert caught.value.retryable


def test_a_fault_of_the_caller_stays_one(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "some.db")) as db:
        pass
    with pytest.raises(sqlite3.ProgrammingError), translated(tmp_path / "some.db", gallery.ERRORS):
        db.execute("SELECT 1")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES])
def test_what_the_file_system_refuses(number: int) -> None:
    refusal = OSError(number, os.strerror(number))
    ours = ledger.ERRORS.system("some.db cannot be created", refusal)
    assert type(ours) is (LedgerError if number == errno.EACCES else LedgerFull)
    assert ours.message == f"some.db cannot be created: {os.strerror(number)}"
    assert ours.hint == "check the disk and the modes"
    assert type(gallery.ERRORS.system("some.db", refusal)) is StorageError
