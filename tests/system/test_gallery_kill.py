"""kill -9 at any moment: what was acknowledged is there, and nothing is torn."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gallery_worker as worker
import pytest

from edgefaced.gallery import rows
from edgefaced.gallery.check import check_gallery
from edgefaced.gallery.store import Gallery

KILLS = 300
People = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Killed:
    """What a worker said before it died."""

    opened: bool
    done: list[dict[str, Any]]
    begun: dict[str, Any] | None


class Nursery:
    """Starts workers quickly: one Python that has everything imported and forks."""

    def __init__(self) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, str(worker.__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run_and_kill(
        self, folder: Path, people: People, *, seed: int, lines: int, then_s: float
    ) -> Killed:
        """Lets a worker say so many lines, work on for a moment, and kills it with SIGKILL."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        fifo = folder / "fifo"
        os.mkfifo(fifo)
        order = {"folder": str(folder), "fifo": str(fifo), "seed": seed, "people": people}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        with fifo.open() as said:
            heard = [said.readline() for _ in range(lines)]
            # Not to wait for anything: the moment of death is drawn by chance.
            time.sleep(then_s)
            os.kill(pid, signal.SIGKILL)
            heard += said.readlines()
        status = int(self.process.stdout.readline())
        assert os.WIFSIGNALED(status), "the worker died of a fault of its own"
        assert os.WTERMSIG(status) == signal.SIGKILL
        fifo.unlink()
        return understood([json.loads(line) for line in heard if line.endswith("\n")])

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def understood(said: list[Any]) -> Killed:
    operations = [line for line in said if isinstance(line, dict)]
    count = said.count("done")
    begun = operations[count] if len(operations) > count else None
    return Killed("opened" in said, operations[:count], begun)


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    started = Nursery()
    yield started
    started.close()


def state_of(gallery: Gallery) -> dict[str, list[bytes]]:
    """Name to the vectors of everybody, and every record opened on the way."""
    report = check_gallery(gallery)
    assert report.faults == ()
    with gallery.reading() as db:
        names = {p.id: p.name for p in rows.people(db, gallery.protection)}
        found: dict[str, list[bytes]] = {name: [] for name in names.values()}
        for stored in rows.stored_templates(db, gallery.protection):
            found[names[stored.person_id]].append(stored.embedding.vector.tobytes())
    return found


def vectors_of(people: People) -> dict[str, list[bytes]]:
    return {
        name: [worker.vector(seed).tobytes() for seed in seeds] for name, seeds in people.items()
    }


@pytest.mark.slow
def test_nothing_committed_is_lost_and_nothing_is_torn(
    nursery: Nursery, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(20)
    folder = tmp_path / "0"
    folder.mkdir()
    people: People = {}
    acknowledged = interrupted = unheard = 0
    for kill in range(KILLS):
        killed = nursery.run_and_kill(
            folder, people, seed=kill, lines=rng.randint(2, 9), then_s=rng.uniform(0, 0.02)
        )
        for operation in killed.done:
            people = worker.applied(people, operation)
        acknowledged += len(killed.done)
        with Gallery.open(folder / "gallery.db", folder / "gallery.key") as gallery:
            state = state_of(gallery)
        # What had begun is there in full or not at all.
        if state != vectors_of(people):
            assert killed.begun is not None
            people = worker.applied(people, killed.begun)
            assert state == vectors_of(people)
            unheard += 1
        interrupted += killed.begun is not None
    assert acknowledged > KILLS
    assert interrupted > KILLS // 4, "most deaths came in the middle of something"
    record_property("kills", KILLS)
    record_property("operations acknowledged", acknowledged)
    record_property("operations interrupted", interrupted)
    record_property("operations committed but not yet acknowledged", unheard)


@pytest.mark.slow
def test_a_gallery_killed_while_it_begins(nursery: Nursery, tmp_path: Path) -> None:
    rng = random.Random(21)
    unborn = 0
    for kill in range(60):
        folder = tmp_path / str(kill)
        folder.mkdir()
        killed = nursery.run_and_kill(folder, {}, seed=kill, lines=1, then_s=rng.uniform(0, 0.006))
        key_file = folder / "gallery.key"
        key = key_file.read_bytes() if key_file.exists() else None
        unborn += not killed.opened
        with Gallery.open(folder / "gallery.db", key_file, create=True) as gallery:
            assert check_gallery(gallery).faults == ()
        assert key is None or key_file.read_bytes() == key, "the key is made once"
        assert not list(folder.glob(".*")), "no draft is left"
    assert unborn, "some died before the gallery was there"
