"""A disk that is full: the door goes on, the fault is seen, nothing that fits memory is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from ledgers import ANN, event, seen
from small_disk import small_disk as mounted

from edgefaced.errors import LedgerError, LedgerFull
from edgefaced.events import Event, Trouble
from edgefaced.ledger.redaction import redact_person
from edgefaced.ledger.store import Ledger, key_file_of
from edgefaced.ledger.verify import verify
from edgefaced.pipeline.crew import Crew
from edgefaced.pipeline.deliveries import Deliveries
from edgefaced.pipeline.recorder import Recording
from edgefaced.protocols import Delivery, SinkPlan

PATIENCE = 60


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    with mounted(tmp_path / "disk", megabytes=2) as disk:
        yield disk


def big(number: int) -> Event:
    return event(Trouble(str(number), "x" * 2000))


def number_of(event: Event) -> int:
    assert isinstance(event.happening, Trouble)
    return int(event.happening.where)


def fill(ledger: Ledger) -> int:
    """Appends until there is no room; how many were taken."""
    for n in range(2000):
        with suppress(LedgerFull):
            ledger.append([big(n)])
            continue
        with pytest.raises(LedgerFull, match="the disk is full") as caught:
            ledger.append([big(n)])
        assert "\n" not in str(caught.value)
        return n
    raise AssertionError("the disk has no end")


def test_a_full_disk_takes_nothing_and_tears_nothing(small_disk: Path) -> None:
    path, ballast = small_disk / "events.db", small_disk / "ballast"
    ballast.write_bytes(bytes(500_000))
    with Ledger.open(path, create=True) as ledger:
        count = fill(ledger)
        assert count > 50
        assert ledger.head().position == count, "what failed left no trace"
        assert verify(ledger).clean
        assert [number_of(r.event) for r in ledger.after(0, 5000)] == list(range(count))
        ballast.unlink()
        ledger.append([big(count)])
    with Ledger.open(path) as ledger:
        assert verify(ledger).clean
        assert ledger.head().position == count + 1
        assert not redact_person(ledger, "nobody", "door").records


def test_forgetting_takes_no_room_from_whoever_records(tmp_path: Path) -> None:
    with (
        mounted(tmp_path / "disk", megabytes=24) as disk,
        Ledger.open(disk / "events.db", create=True) as ledger,
    ):
        for n in range(10):
            ledger.append([event(seen(ANN)), *(big(n * 50 + m) for m in range(50))])
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(8_000_000))
        before = (disk / "events.db").stat().st_size
        done = redact_person(ledger, ANN, "door")
        assert (done.records, done.scrubbed) == (10, False)
        assert (disk / "events.db").stat().st_size < before + 500_000
        assert verify(ledger).clean
        ballast.unlink()
        assert redact_person(ledger, ANN, "door").scrubbed


def test_a_ledger_cannot_begin_on_a_full_disk(small_disk: Path) -> None:
    ballast, path = small_disk / "ballast", small_disk / "events.db"
    with pytest.raises(OSError, match="No space"):
        ballast.write_bytes(bytes(3_000_000))
    with pytest.raises(LedgerError):
        Ledger.open(path, create=True)
    assert not path.exists()
    ballast.unlink()
    with Ledger.open(path, create=True) as ledger:
        assert verify(ledger).clean
    assert {f.name for f in small_disk.iterdir()} == {path.name, key_file_of(path).name}


class Notes:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.changed = threading.Condition()

    def emit(self, event: Event) -> None:
        with self.changed:
            self.heard.append(event)
            self.changed.notify_all()

    def close(self) -> None:
        """Nothing to close."""

    def wheres(self) -> list[str]:
        return [e.happening.where for e in self.heard if isinstance(e.happening, Trouble)]

    def numbers(self) -> list[int]:
        return [int(where) for where in self.wheres() if where.isdigit()]

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.numbers()) >= count, PATIENCE)

    def wait_for_two_words_of_the_ledger(self) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.wheres().count("ledger") == 2, PATIENCE)


def test_decisions_go_on_and_are_recorded_when_there_is_room_again(small_disk: Path) -> None:
    path, ballast = small_disk / "events.db", small_disk / "ballast"
    ballast.write_bytes(bytes(1_000_000))
    door, mqtt, crew = Notes(), Notes(), Crew()
    deliveries = Deliveries(
        "door",
        {
            "door": SinkPlan(lambda: door, Delivery.MOMENTARY),
            "mqtt": SinkPlan(lambda: mqtt, Delivery.LASTING),
        },
        Recording(lambda: Ledger.open(path, create=True)),
        crew,
    )
    recorder = deliveries.recorder
    assert recorder is not None
    crew.start()
    number = 0
    while not recorder.fault:
        assert number < 2000, "the disk has no end"
        deliveries.postbox.announce(big(number).happening)
        number += 1
        door.wait_for(number)
    for _ in range(50):
        deliveries.postbox.announce(big(number).happening)
        number += 1
    door.wait_for(number)
    assert "the disk is full" in recorder.fault
    assert recorder.waiting >= 50
    assert not door.heard[-1].recorded
    ballast.unlink()
    mqtt.wait_for(number)
    mqtt.wait_for_two_words_of_the_ledger()
    deliveries.close()
    assert crew.wait(PATIENCE)
    assert crew.join(PATIENCE) == []
    assert crew.failures == []
    assert door.numbers() == mqtt.numbers() == list(range(number)), "all, in order, once"
    assert (recorder.fault, recorder.lost, recorder.waiting) == ("", 0, 0)
    with Ledger.open(path) as ledger:
        assert verify(ledger).clean
        assert ledger.head().position == number + 2, "the fault and its end are recorded as well"
