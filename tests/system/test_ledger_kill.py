"""kill -9 at any moment: the chain is whole; what was acknowledged is there and is delivered."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import ledger_worker as worker
import pytest
from nursery import Nursery

from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify

KILLS = 300


def run_and_kill(
    nursery: Nursery, folder: Path, *, seed: int, first: int, lines: int, then_s: float
) -> list[tuple[int, str]]:
    """Numbers and ids that were acknowledged before the worker was killed."""
    said = nursery.run_and_kill(
        folder, lines=lines, then_s=then_s, seed=seed, first=first, most=40, forever=True
    )
    return [(int(number), event_id) for number, event_id in map(str.split, said)]


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with closing(Nursery(worker.__file__)) as started:
        yield started


def delivered(folder: Path) -> list[tuple[str, int, str]]:
    """Kind, number and id of each delivery, repetitions included; a torn last line is none."""
    path = folder / "delivered"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(kind, int(number), event_id) for kind, number, event_id in map(str.split, lines)]


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_and_everything_is_delivered_in_order(
    nursery: Nursery, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(30)
    acknowledged: list[tuple[int, str]] = []
    number = 0
    for kill in range(KILLS):
        acknowledged += run_and_kill(
            nursery,
            tmp_path,
            seed=kill,
            first=number,
            lines=rng.randint(1, 6),
            then_s=rng.uniform(0, 0.02),
        )
        # Whatever was announced and not heard of may be there or not; the next numbers are new.
        number = acknowledged[-1][0] + 1000
        if kill % 5 == 4:
            with Ledger.open(tmp_path / "events.db") as ledger:
                verdict = verify(ledger)
                assert verdict.clean, (kill, verdict.faults)
    nursery.run(tmp_path, seed=0, first=number, most=20, forever=False)
    with Ledger.open(tmp_path / "events.db") as ledger:
        verdict, cursors = verify(ledger), ledger.cursors()
    assert verdict.clean
    assert verdict.purged > 1000, "retention was at work as well"
    assert verdict.records + verdict.purged == verdict.head.position
    assert {name: (c.position, c.lost) for name, c in cursors.items()} == {
        "echo": (verdict.head.position, 0),
        "write": (verdict.head.position, 0),
    }

    seen = delivered(tmp_path)
    first: dict[str, tuple[str, int]] = {}
    for kind, told, event_id in seen:
        assert first.setdefault(event_id, (kind, told)) == (kind, told)
    events = [told for kind, told in first.values() if kind == "event"]
    answers = [told for kind, told in first.values() if kind == "answer"]
    assert events == sorted(events), "in the order of recording"
    assert len(set(events)) == len(events), "every event has one id"
    missing = set(acknowledged) - {(told, i) for i, (k, told) in first.items() if k == "event"}
    assert not missing, "at least once"
    assert answers == events, "each answered exactly once"
    record_property("kills", KILLS)
    record_property("events acknowledged", len(acknowledged))
    record_property("events delivered", len(first))
    record_property("deliveries repeated", len(seen) - len(first))
