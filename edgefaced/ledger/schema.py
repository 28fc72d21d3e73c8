"""The ledger's tables, version by version, and the errors of its file."""

from __future__ import annotations

from edgefaced.errors import (
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerFull,
    LedgerMissing,
    LedgerTooNew,
)
from edgefaced.storage.errors import FileErrors, Way
from edgefaced.storage.schema import Schema

ERRORS = FileErrors(
    what="ledger",
    missing=Way(LedgerMissing, "`edgefaced run` starts one"),
    replaced=Way(LedgerError, "it is opened anew at the next try"),
    busy=Way(LedgerBusy, "try again"),
    full=Way(LedgerFull, "make room"),
    refused=Way(LedgerError, "check the disk and the modes"),
    damaged=Way(LedgerDamaged, "move it away: a new one is begun"),
    foreign=Way(LedgerDamaged, "move the file away or restore it"),
    too_new=Way(LedgerTooNew, "update edgefaced"),
    system_hint="check the disk and the modes",
)

APPLICATION_ID = 0x4546656C
"""ASCII "EFel" in SQLite's header: this file is a ledger of events."""

RECORDS = "records"


def records_table(name: str = RECORDS) -> str:
    """The statement that makes it; of a redacted record only its digests and its seal are left."""
    return f"""CREATE TABLE {name} (
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
        ) STRICT"""


def records_indexes(table: str = RECORDS, suffix: str = "") -> tuple[str, ...]:
    """The statements that make its indexes, whose names are unique in the file."""
    return (
        f"CREATE INDEX records_by_kind{suffix} ON {table} (kind, position)",
        f"CREATE INDEX records_by_person{suffix} ON {table} (person, position)"
        " WHERE person IS NOT NULL",
        # With all that a purge asks for: it must not read old records to let them be.
        f"CREATE INDEX {BY_TIME}{suffix} ON {table} (happened_us, kind)"
        " WHERE happened_us IS NOT NULL",
    )


BY_TIME = "records_by_time"

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) STRICT",
        records_table(),
        *records_indexes(),
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

SCHEMA = Schema(APPLICATION_ID, STEPS, ERRORS)
