"""kill -9 between a decision and its record of attendance: each decision has one, never two."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import attendance_worker as worker
import pytest
from nursery import Nursery

from edgefaced.events import Attended, DecisionMade
from edgefaced.ledger.reading import Wanted, entries
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify

KILLS = 100


@pytest.mark.slow
def test_a_decision_leads_to_one_record_whatever_dies(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(7)
    acknowledged: list[str] = []
    undone = 0
    with closing(Nursery(worker.__file__)) as nursery:
        for kill in range(KILLS):
            said = nursery.run_and_kill(
                tmp_path, lines=rng.randint(1, 12), then_s=rng.uniform(0, 0.02), seed=kill
            )
            acknowledged += [line.strip() for line in said][1:]
            undone += decisions_without_record(tmp_path) > 0
    worker.finish(tmp_path)

    with Ledger.open(tmp_path / "events.db") as ledger:
        assert verify(ledger).faults == ()
        events = [entry.record.event for entry in entries(ledger, Wanted())]
    assert {e.id for e in events} >= set(acknowledged), "what was acknowledged is there"
    decided = [e for e in events if isinstance(e.happening, DecisionMade)]
    records = [e for e in events if isinstance(e.happening, Attended)]
    of_events = [r.happening.of_event for r in records if isinstance(r.happening, Attended)]
    assert of_events == [d.id for d in decided], "one record a decision, in their order"
    assert [r.utc for r in records] == [d.utc for d in decided]
    for person in worker.PEOPLE:
        own = [
            r.happening.direction.value
            for r in records
            if isinstance(r.happening, Attended) and r.happening.person_id == person
        ]
        assert own == ["in", "out"] * (len(own) // 2) + ["in"] * (len(own) % 2)
    assert undone > KILLS // 10, "many died between a decision and its record"
    record_property("kills", KILLS)
    record_property("decisions", len(decided))
    record_property("deaths between a decision and its record", undone)


def decisions_without_record(folder: Path) -> int:
    path = folder / "events.db"
    if not path.exists():
        return 0
    with Ledger.open(path) as ledger:
        kinds = [
            entry.record.event.happening
            for entry in entries(ledger, Wanted(kinds=("face", "attendance")))
        ]
    return sum(isinstance(k, DecisionMade) for k in kinds) - sum(
        isinstance(k, Attended) for k in kinds
    )
