"""The ledger's tables, version by version; a new ledger runs every step, an old one the rest."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from edgefaced.errors import LedgerDamaged, LedgerTooNew

APPLICATION_ID = 0x4546656C
"""ASCII "EFel" in SQLite's header: this file is a ledger of events."""

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) STRICT",
        # Of a redacted record only its digests and its seal are left.
        """CREATE TABLE records (
            position INTEGER PRIMARY KEY,
            id TEXT UNIQUE,
            kind TEXT,
            person TEXT,
            happened_us INTEGER,
            salt BLOB,
            body BLOB,
            content BLOB NOT NULL,
            digest BLOB NOT NULL,
            redaction BLOB
        ) STRICT""",
        "CREATE INDEX records_by_kind ON records (kind, position)",
        "CREATE INDEX records_by_person ON records (person, position) WHERE person IS NOT NULL",
        # With all that a purge asks for: it must not read old records to let them be.
        "CREATE INDEX records_by_time ON records (happened_us, kind) WHERE happened_us IS NOT NULL",
        "CREATE TABLE head (position INTEGER NOT NULL, digest BLOB NOT NULL, seal BLOB) STRICT",
        # Runs of purged records, the oldest usually from position 1.
        """CREATE TABLE gaps (
            first INTEGER PRIMARY KEY,
            last INTEGER NOT NULL,
            digest BLOB NOT NULL,
            seal BLOB
        ) STRICT""",
        # The first event of a boot that came when the wall clock was right.
        """CREATE TABLE marks (
            boot TEXT PRIMARY KEY NOT NULL,
            position INTEGER NOT NULL,
            monotonic_ns INTEGER NOT NULL,
            utc_us INTEGER NOT NULL,
            utc_offset_seconds INTEGER NOT NULL,
            seal BLOB
        ) STRICT""",
        """CREATE TABLE cursors (
            sink TEXT PRIMARY KEY NOT NULL,
            position INTEGER NOT NULL,
            lost INTEGER NOT NULL DEFAULT 0
        ) STRICT""",
    ),
)

VERSION = len(STEPS)


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Schema version of a database; raises LedgerDamaged where it is none of ours.

    A ledger of a newer schema raises LedgerTooNew and is not touched.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or version < 1:
        raise LedgerDamaged(f"{path} is not a ledger", "move the file away or restore it")
    if version > VERSION:
        raise LedgerTooNew(
            f"{path} has schema {version}; this edgefaced knows schemas up to {VERSION}",
            "update edgefaced",
        )
    return int(version)


def build(connection: sqlite3.Connection) -> None:
    """The tables of a new ledger, inside the caller's transaction."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    _run_steps(connection, 0)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Brings an older ledger up to date in one transaction, once, whoever comes first."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        _run_steps(connection, version_of(connection, path))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _run_steps(connection: sqlite3.Connection, version: int) -> None:
    for step in STEPS[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
