"""The gallery's tables, version by version, and the errors of its file."""

from __future__ import annotations

from edgefaced.errors import (
    GalleryBusy,
    GalleryDamaged,
    GalleryError,
    GalleryMissing,
    GalleryTooNew,
    StorageError,
)
from edgefaced.storage.errors import FileErrors, Way
from edgefaced.storage.schema import Schema

ERRORS = FileErrors(
    what="gallery",
    missing=Way(GalleryMissing, "`edgefaced enroll` starts one"),
    replaced=Way(GalleryError, "start again to use the new file"),
    busy=Way(GalleryBusy, "try again"),
    full=Way(StorageError, "nothing was changed; make room"),
    refused=Way(StorageError, "nothing was changed; check the disk and the modes"),
    damaged=Way(GalleryDamaged, "restore it from `gallery export`"),
    foreign=Way(GalleryDamaged, "move the file away or restore it"),
    too_new=Way(GalleryTooNew, "update edgefaced"),
    system_hint="",
)

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

SCHEMA = Schema(APPLICATION_ID, STEPS, ERRORS)
