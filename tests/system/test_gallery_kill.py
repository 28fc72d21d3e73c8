"""kill -9 at any moment: what was acknowledged is there, and nothing is torn."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gallery_worker as worker
import pytest
from nursery import Nursery

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


def run_and_kill(
    nursery: Nursery, folder: Path, people: People, *, seed: int, lines: int, then_s: float
) -> Killed:
    said = nursery.run_and_kill(folder, lines=lines, then_s=then_s, seed=seed, people=people)
    return understood([json.loads(line) for line in said])


def understood(said: list[Any]) -> Killed:
    operations = [line for line in said if isinstance(line, dict)]
    count = said.count("done")
    begun = operations[count] if len(operations) > count else None
    return Killed("opened" in said, operations[:count], begun)


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with closing(Nursery(worker.__file__)) as started:
        yield started


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
        killed = run_and_kill(
            nursery, folder, people, seed=kill, lines=rng.randint(2, 9), then_s=rng.uniform(0, 0.02)
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
        killed = run_and_kill(nursery, folder, {}, seed=kill, lines=1, then_s=rng.uniform(0, 0.006))
        key_file = folder / "gallery.key"
        key = key_file.read_bytes() if key_file.exists() else None
        unborn += not killed.opened
        with Gallery.open(folder / "gallery.db", key_file, create=True) as gallery:
            assert check_gallery(gallery).faults == ()
        assert key is None or key_file.read_bytes() == key, "the key is made once"
        assert not list(folder.glob(".*")), "no draft is left"
    assert unborn, "some died before the gallery was there"
