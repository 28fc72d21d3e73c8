"""Events and ledgers for tests that need many of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from edgefaced.events import DecisionMade, Event, Happening, Trouble
from edgefaced.types import Decision, Liveness, Outcome

ANN, BOB = "0190b2c4-0000-7000-8000-00000000000a", "0190b2c4-0000-7000-8000-00000000000b"
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def seen(person: str | None = ANN) -> DecisionMade:
    outcome = Outcome.UNKNOWN if person is None else Outcome.KNOWN
    return DecisionMade(1, Decision(outcome, person, 0.7, 0.4, Liveness.PASSED, "match"), 1, 2)


def event(
    happening: Happening | None = None,
    *,
    at: datetime = NOON,
    monotonic_s: float = 0.0,
    boot: str = "boot",
    synchronised: bool = True,
    offset: int = 0,
) -> Event:
    return Event(
        happening or seen(),
        "door",
        utc=at,
        monotonic_ns=round(monotonic_s * 1e9),
        boot_id=boot,
        synchronised=synchronised,
        utc_offset_seconds=offset,
    )


def troubles(count: int, first: int = 0, *, days_apart: float = 0.0) -> list[Event]:
    """Numbered in their detail."""
    return [
        event(Trouble("test", str(first + n)), at=NOON + timedelta(days=n * days_apart))
        for n in range(count)
    ]


def tamper(path: Path, change: Callable[[sqlite3.Connection], object]) -> None:
    """Does to a ledger's file what somebody with SQLite can do, and no key."""
    with closing(sqlite3.connect(path)) as db:
        change(db)
        db.commit()
