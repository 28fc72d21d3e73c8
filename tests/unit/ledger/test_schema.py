"""A new ledger and one that was migrated are the same; what fails changes nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from ledgers import troubles

from edgefaced.errors import LedgerDamaged
from edgefaced.ledger import schema
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify

NEXT = (
    "ALTER TABLE cursors ADD COLUMN note TEXT",
    "CREATE TABLE extra (x TEXT) STRICT",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "events.db"
    with Ledger.open(path, create=True) as ledger:
        ledger.append(troubles(3))
    return path


@pytest.fixture
def next_version(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """As an edgefaced to come sees the ledger of today."""
    to_come = replace(schema.SCHEMA, steps=(*schema.STEPS, NEXT))
    monkeypatch.setattr(schema, "SCHEMA", to_come)
    return to_come.version


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master").fetchall()}


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_an_older_ledger_is_brought_up_to_date(path: Path, next_version: int) -> None:
    assert version(path) == next_version - 1
    with Ledger.open(path) as ledger:
        assert verify(ledger).clean
        assert len(ledger.after(0)) == 3
    assert version(path) == next_version
    assert "extra" in tables(path)


def test_a_migration_that_fails_changes_nothing(path: Path, next_version: int) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE extra (mine TEXT)")
    with pytest.raises(LedgerDamaged, match="extra already exists"):
        Ledger.open(path)
    assert version(path) == next_version - 1
    with closing(sqlite3.connect(path)) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(cursors)").fetchall()}
        assert "note" not in columns
        db.execute("DROP TABLE extra")
    with Ledger.open(path) as ledger:
        assert ledger.head().position == 3
