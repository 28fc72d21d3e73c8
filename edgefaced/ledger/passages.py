"""Who was let in by which door lately: what a restart must not forget."""

from __future__ import annotations

from datetime import datetime

from edgefaced.core.passback import Passage
from edgefaced.events import AccessDecided
from edgefaced.ledger.reading import Entry, Wanted, last_entries
from edgefaced.ledger.store import Ledger

MOST = 5000
"""Decisions of doors that are looked through; it takes a second or two on a small board."""


def passages(
    ledger: Ledger, seconds: float, *, now: datetime | None, boot_id: str, boot_ns: int
) -> list[Passage]:
    """The people whom doors let in during the last `seconds`, or nobody knows when; oldest first.

    `now` is None where the wall clock is not synchronised: then the time is known of this boot
    only. Raises LedgerError.
    """
    found = []
    for entry in last_entries(ledger, Wanted(kinds=("access",)), MOST):
        decided = entry.record.event.happening
        if isinstance(decided, AccessDecided) and decided.granted and decided.person_id:
            age = _age(entry, now, boot_id, boot_ns)
            if age is None or age < seconds:
                found.append(Passage(decided.door, decided.person_id, age))
    return found


def _age(entry: Entry, now: datetime | None, boot_id: str, boot_ns: int) -> float | None:
    event = entry.record.event
    if event.boot_id == boot_id != "":
        return (boot_ns - event.monotonic_ns) / 1e9
    if now is None or not entry.when.certain:
        return None
    return (now - entry.when.utc).total_seconds()
