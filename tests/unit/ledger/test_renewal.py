"""Forgetting while others record: nothing is left, nothing is lost, nobody waits for long."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redaction_worker
from ledgers import ANN, BOB, event, seen, troubles
from nursery import Nursery

from edgefaced.events import Attended, Event, Trouble
from edgefaced.ledger.redaction import redact_person
from edgefaced.ledger.renewal import PORTION, renew
from edgefaced.ledger.retention import Keep, Retention
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.turn import sole_reader
from edgefaced.ledger.verify import verify
from edgefaced.types import Direction

KILLS = 10


def remains(folder: Path, what: str) -> int:
    return sum(file.read_bytes().count(what.encode()) for file in folder.glob("events.db*"))


def purged_now_and_then(ledger: Ledger) -> None:
    """Attendance among other events, most of which have been left out since."""
    chance = random.Random(1)
    for portion in range(40):
        happenings = [
            Attended(ANN, Direction.IN, "device", "x" * 36)
            if (drawn := chance.random()) < 0.1
            else seen(BOB)
            if drawn < 0.6
            else Trouble("test", f"{portion} {number}")
            for number in range(100)
        ]
        ledger.append([event(happening) for happening in happenings])
        if portion % 4 == 3:
            retention = Retention(Keep(records=300), {"attendance": Keep()})
            ledger.purge(retention, now_us=None, holders=())


def test_copies_in_the_unused_part_of_pages_go_as_well(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        purged_now_and_then(ledger)
        with ledger.database.writing() as db:
            db.execute("UPDATE records SET body = NULL, person = NULL WHERE person = ?", (ANN,))
        assert ledger.database.empty_log(30)
        assert remains(tmp_path, ANN) > 0, "zeroed rows are not enough: this is what it is for"
        assert renew(ledger.database)
        assert remains(tmp_path, ANN) == 0


def test_it_can_be_done_again_and_again_and_a_purge_knows_the_table(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        ledger.append(troubles(PORTION * 2 + 1))
        for kept in (300, 200, 100):
            assert renew(ledger.database)
            ledger.purge(Retention(Keep(days=1, records=kept)), now_us=None, holders=())
            assert verify(ledger).clean
            assert verify(ledger).records == kept
        with ledger.database.reading() as db:
            names = {name for (name,) in db.execute("SELECT name FROM sqlite_master").fetchall()}
        assert not [name for name in names if name.startswith(("records_next", "records_old"))]
        assert not [name for name in names if name.startswith("record_")]


def test_others_record_and_purge_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    over, recorded = threading.Event(), list[Event]()

    def record() -> None:
        with Ledger.open(path, busy_seconds=30) as ledger:
            while not over.wait(0.005):
                more = [event(Trouble("new", str(len(recorded))))]
                ledger.append(more)
                recorded.extend(more)
                retention = Retention(Keep(), {"face": Keep(records=1500)})
                ledger.purge(retention, now_us=None, holders=())

    with Ledger.open(path, create=True, busy_seconds=30) as ledger:
        for _ in range(10):
            ledger.append([event(seen(person)) for person in (ANN, BOB) * 100])
        recorder = threading.Thread(target=record)
        recorder.start()
        try:
            done = redact_person(ledger, ANN, "door")
        finally:
            over.set()
            recorder.join()
        assert done.scrubbed
        # What it purged meanwhile was not there any more to be redacted.
        assert 500 < done.records <= 1000
        assert len(recorded) > 1
        assert remains(tmp_path, ANN) == 0
        assert verify(ledger).clean
        there = {record.event.id for record in ledger.after(0, 10_000)}
        assert {one.id for one in recorded} <= there


def test_one_at_a_time(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        ledger.append([event(seen(ANN))])
        with sole_reader(tmp_path / "events.db", "renewal"):
            assert not redact_person(ledger, ANN, "door").scrubbed
        assert redact_person(ledger, ANN, "door").scrubbed


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with closing(Nursery(redaction_worker.__file__)) as started:
        yield started


def test_kill_9_in_the_middle_leaves_a_whole_ledger(nursery: Nursery, tmp_path: Path) -> None:
    chance, people = random.Random(6), [f"0190b2c4-0000-7000-8000-{n:012}" for n in range(KILLS)]
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        for _ in range(10):
            ledger.append([event(seen(person)) for person in people * 15])
        for person in people:
            then_s = chance.uniform(0, 0.5)
            nursery.run_and_kill(tmp_path, lines=1, then_s=then_s, person=person, lingers=True)
            (one,) = ledger.append([event(seen(BOB))])
            ledger.purge(Retention(Keep(records=1400)), now_us=None, holders=())
            assert verify(ledger).clean
            assert ledger.after(one.position - 1)[0].event.id == one.event.id
        for person in people:
            assert redact_person(ledger, person, "test").scrubbed
            assert remains(tmp_path, person) == 0
        assert verify(ledger).clean
