"""Ledgers with attendance, as a clerk would have written them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from edgefaced.attendance.records import record_id
from edgefaced.events import Attended, DecisionMade, Event, Happening
from edgefaced.ledger.store import Ledger
from edgefaced.types import Decision, Direction, Liveness, Outcome

BOOT = "5f2d6f9e-0000-4000-8000-000000000001"


def at(happening: Happening, utc: datetime, name: str, *, synchronised: bool = True) -> Event:
    """An event at a moment; its monotonic clock started in 2020."""
    monotonic = (utc - datetime(2020, 1, 1, tzinfo=UTC)).total_seconds()
    return Event(
        happening,
        "door",
        id=name,
        utc=utc,
        monotonic_ns=int(monotonic * 1e9),
        boot_id=BOOT,
        synchronised=synchronised,
        utc_offset_seconds=0,
    )


def known(person_id: str, utc: datetime, name: str) -> Event:
    """A decision about somebody who is enrolled."""
    decision = Decision(Outcome.KNOWN, person_id, 0.7, 0.35, Liveness.NOT_CHECKED, "frames agree")
    return at(DecisionMade(1, decision, 0, 1), utc, name)


def attended(person_id: str, direction: str, utc: datetime, *, synchronised: bool = True) -> Event:
    """A record of attendance; its id follows from person and time."""
    decision = f"{person_id} {utc.isoformat()}"
    happening = Attended(person_id, Direction(direction), "device", decision)
    return at(happening, utc, record_id(decision), synchronised=synchronised)


def write(path: Path, events: Iterable[Event]) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.append(list(events))
