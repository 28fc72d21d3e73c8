"""The gallery's tables, version by version; a new gallery runs every step, an old one the rest."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from edgefaced.errors import GalleryDamaged, GalleryTooNew

APPLICATION_ID = 0x45466763
"""ASCII "EFgc" in SQLite's header: this file is a gallery."""

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) STRICT",
        """CREATE TABLE people (
            row INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            name BLOB NOT NULL,
            name_lookup BLOB NOT NULL UNIQUE,
            consent BLOB,
            enrolled_at TEXT NOT NULL
        ) STRICT""",
        """CREATE TABLE templates (
            row INTEGER PRIMARY KEY AUTOINCREMENT,
            person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
            model_id TEXT NOT NULL,
            vector BLOB NOT NULL,
            added_at TEXT NOT NULL
        ) STRICT""",
        "CREATE INDEX templates_by_person ON templates (person_id)",
    ),
    (
        """CREATE TABLE changes (
            revision INTEGER PRIMARY KEY AUTOINCREMENT,
            person_id TEXT NOT NULL,
            kind TEXT NOT NULL
        ) STRICT""",
        """CREATE TABLE pictures (
            template INTEGER PRIMARY KEY REFERENCES templates (row) ON DELETE CASCADE,
            picture BLOB NOT NULL
        ) STRICT""",
        "CREATE INDEX templates_by_model ON templates (model_id, person_id)",
    ),
    ("ALTER TABLE people ADD COLUMN details BLOB",),
    ("ALTER TABLE people ADD COLUMN access BLOB",),
)

VERSION = len(STEPS)


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Schema version of a database; raises GalleryDamaged where it is none of ours.

    A gallery of a newer schema raises GalleryTooNew and is not touched.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or version < 1:
        raise GalleryDamaged(f"{path} is not a gallery", "move the file away or restore it")
    if version > VERSION:
        raise GalleryTooNew(
            f"{path} has schema {version}; this edgefaced knows schemas up to {VERSION}",
            "update edgefaced",
        )
    return int(version)


def build(connection: sqlite3.Connection) -> None:
    """The tables of a new gallery, inside the caller's transaction."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    _run_steps(connection, 0)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Brings an older gallery up to date in one transaction, once, whoever comes first."""
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
