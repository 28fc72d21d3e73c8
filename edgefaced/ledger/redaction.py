"""Forgetting a person: bodies go, digests stay, and that it was done is a record of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass

from edgefaced.events import Event, RecordsRedacted
from edgefaced.ledger import rows
from edgefaced.ledger.renewal import PORTION, renew, rest
from edgefaced.ledger.retention import lose
from edgefaced.ledger.store import Ledger


@dataclass(frozen=True, slots=True)
class Redaction:
    """How many records lost their body; `scrubbed` is False where another process's reading or a
    full disk kept old pages from being overwritten.
    """

    records: int
    scrubbed: bool


def redact_person(ledger: Ledger, person_id: str, where: str) -> Redaction:
    """Takes everything about a person out of the ledger; `where` is the camera to record it for.

    Sinks that had not got these records will not get them, which is counted as lost. It goes on
    portion by portion, so that others can record meanwhile; each portion's number is recorded.
    """
    redacted = 0
    while portion := _redact_portion(ledger, person_id, where):
        redacted += portion
    return Redaction(redacted, scrubbed=renew(ledger.database))


def _redact_portion(ledger: Ledger, person_id: str, where: str) -> int:
    started, seals = time.perf_counter(), ledger.seals
    with ledger.database.writing() as db:
        found = db.execute(
            "SELECT position, digest FROM records WHERE person = ? ORDER BY position LIMIT ?",
            (person_id, PORTION),
        ).fetchall()
        for position, digest in found:
            db.execute(
                "UPDATE records SET id = NULL, kind = NULL, person = NULL, happened_us = NULL,"
                " salt = NULL, body = NULL, redaction = ? WHERE position = ?",
                (seals.redaction(position, digest), position),
            )
        for name, cursor in rows.cursors(db).items():
            lose(db, name, sum(position > cursor.position for position, _ in found))
        if found:
            rows.append(db, seals, [Event(RecordsRedacted(len(found)), where)])
    rest(started)
    return len(found)
