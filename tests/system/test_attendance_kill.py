"""kill -9 between a decision and its record of attendance: each decision has one, never two."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import attendance_worker as worker
import pytest

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
    nursery = subprocess.Popen(
        [sys.executable, str(worker.__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    with nursery.stdin as told, nursery.stdout as answered:
        for kill in range(KILLS):
            fifo = tmp_path / "fifo"
            os.mkfifo(fifo)
            order = {"folder": str(tmp_path), "fifo": str(fifo), "seed": kill}
            told.write(json.dumps(order) + "\n")
            told.flush()
            pid = int(answered.readline())
            with fifo.open() as said:
                heard = [said.readline() for _ in range(rng.randint(1, 12))]
                # Not to wait for anything: the moment of death is drawn by chance.
                time.sleep(rng.uniform(0, 0.02))
                os.kill(pid, signal.SIGKILL)
                heard += said.readlines()
            status = int(answered.readline())
            assert os.WIFSIGNALED(status), "the worker died of a fault of its own"
            fifo.unlink()
            acknowledged += [line.strip() for line in heard if line.endswith("\n")][1:]
            undone += decisions_without_record(tmp_path) > 0
    assert nursery.wait(60) == 0
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
