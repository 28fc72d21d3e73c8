"""kill -9 at any moment: the chain is whole; what was acknowledged is there and is delivered."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ledger_worker as worker
import pytest

from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify

KILLS = 300


class Nursery:
    """Starts workers quickly: one Python that has everything imported and forks."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(worker.__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def begin(self, folder: Path, **order: Any) -> tuple[int, Path]:
        fifo = folder / "fifo"
        os.mkfifo(fifo)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        order |= {"folder": str(folder), "fifo": str(fifo)}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()), fifo

    def end(self) -> int:
        """The wait status of the worker that has died."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def run_and_kill(
        self, folder: Path, *, seed: int, first: int, lines: int, then_s: float
    ) -> list[tuple[int, str]]:
        """Numbers and ids that were acknowledged before the worker was killed with SIGKILL."""
        pid, fifo = self.begin(folder, seed=seed, first=first, most=40, forever=True)
        with fifo.open() as said:
            heard = [said.readline() for _ in range(lines)]
            # Not to wait for anything: the moment of death is drawn by chance.
            time.sleep(then_s)
            os.kill(pid, signal.SIGKILL)
            heard += said.readlines()
        status = self.end()
        assert os.WIFSIGNALED(status), "the worker died of a fault of its own"
        assert os.WTERMSIG(status) == signal.SIGKILL
        fifo.unlink()
        whole = [line.split() for line in heard if line.endswith("\n")]
        return [(int(number), event_id) for number, event_id in whole]

    def run_to_the_end(self, folder: Path, *, first: int) -> None:
        _, fifo = self.begin(folder, seed=0, first=first, most=20, forever=False)
        with fifo.open() as said:
            said.read()
        assert self.end() == 0
        fifo.unlink()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    started = Nursery()
    yield started
    started.close()


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
        acknowledged += nursery.run_and_kill(
            tmp_path, seed=kill, first=number, lines=rng.randint(1, 6), then_s=rng.uniform(0, 0.02)
        )
        # Whatever was announced and not heard of may be there or not; the next numbers are new.
        number = acknowledged[-1][0] + 1000
        if kill % 5 == 4:
            with Ledger.open(tmp_path / "events.db") as ledger:
                verdict = verify(ledger)
                assert verdict.clean, (kill, verdict.faults)
    nursery.run_to_the_end(tmp_path, first=number)
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
