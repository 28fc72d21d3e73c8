"""What it costs to record events durably, and how long a decision waits for it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from edgefaced.errors import EdgefacedError, StorageError
from edgefaced.events import DecisionMade, Event
from edgefaced.ledger.store import Ledger
from edgefaced.pipeline.crew import Crew
from edgefaced.pipeline.deliveries import Deliveries
from edgefaced.pipeline.figures import percentiles
from edgefaced.pipeline.recorder import Recording
from edgefaced.protocols import Delivery, SinkPlan
from edgefaced.types import Decision, Liveness, Outcome

BATCH = 256
PAGE_BYTES = 4096
APART_SECONDS = 0.01
PATIENCE_SECONDS = 300.0

DECISION = Decision(
    Outcome.KNOWN, "00000000-0000-7000-8000-000000000000", 0.71, 0.36, Liveness.PASSED, "match"
)

Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Tail:
    """Milliseconds of `count` durations."""

    count: int
    p50_ms: float
    p99_ms: float
    longest_ms: float


@dataclass(frozen=True, slots=True)
class StoringFigures:
    """`disk`: a page written and synced, what a durable event costs at least on this disk.
    `single`: one event recorded, one transaction each. `batch_per_second`: events in transactions
    of 256. `wait`: from announcing a decision to the momentary sink, decisions one by one;
    `flood_per_second`: as many decisions at once, until the last is recorded and delivered to a
    momentary and a lasting sink.
    """

    disk: Tail
    single: Tail
    single_per_second: float
    batch_per_second: float
    wait: Tail
    flood_per_second: float
    bytes_per_event: float


def measure_storing(folder: Path, events: int, told: Told = lambda *_: None) -> StoringFigures:
    """On the disk of `folder`, which gets a folder of its own for the time. Raises StorageError."""
    try:
        with TemporaryDirectory(prefix=".edgefaced-bench-", dir=folder) as own:
            return _measure(Path(own), events, told)
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror}") from error


def _measure(folder: Path, events: int, told: Told) -> StoringFigures:
    told("disk", 0, events)
    disk = _disk(folder / "page", events)
    told("single", 0, events)
    with _ledger(folder / "single") as ledger:
        single, seconds = _single(ledger, events)
    told("batch", 0, events)
    with _ledger(folder / "batch") as ledger:
        before = ledger.database.used_bytes()
        batch_seconds = _batches(ledger, events)
        size = (ledger.database.used_bytes() - before) / events
    told("wait", 0, events)
    wait = _wait(folder / "wait.db", events)
    told("flood", 0, events)
    flood_seconds = _flood(folder / "flood.db", events)
    told("done", events, events)
    return StoringFigures(
        disk=disk,
        single=single,
        single_per_second=events / seconds,
        batch_per_second=events / batch_seconds,
        wait=wait,
        flood_per_second=events / flood_seconds,
        bytes_per_event=size,
    )


@contextmanager
def _ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path.with_suffix(".db"), create=True) as ledger:
        yield ledger


def _disk(path: Path, events: int) -> Tail:
    page, durations = os.urandom(PAGE_BYTES), []
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        for _ in range(events):
            started = time.perf_counter()
            os.write(descriptor, page)
            os.fdatasync(descriptor)
            durations.append(time.perf_counter() - started)
    finally:
        os.close(descriptor)
    return tail(durations)


def _single(ledger: Ledger, events: int) -> tuple[Tail, float]:
    durations = []
    for number in range(events):
        event = Event(_decision(number), "bench")
        started = time.perf_counter()
        ledger.append([event])
        durations.append(time.perf_counter() - started)
    return tail(durations), sum(durations)


def _batches(ledger: Ledger, events: int) -> float:
    made = [Event(_decision(number), "bench") for number in range(events)]
    started = time.perf_counter()
    for first in range(0, events, BATCH):
        ledger.append(made[first : first + BATCH])
    return time.perf_counter() - started


class Receiver:
    """A sink that notes when it got what."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.got_ns: list[int] = []
        self.waited_ns: list[int] = []

    def emit(self, event: Event) -> None:
        now = time.monotonic_ns()
        if not isinstance(event.happening, DecisionMade):
            raise EdgefacedError(f"something else happened: {event.happening}")
        with self._changed:
            self.got_ns.append(now)
            self.waited_ns.append(now - event.happening.decided_ns)
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing to close."""

    def wait_for(self, count: int) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.got_ns) >= count, PATIENCE_SECONDS):
                raise StorageError("the disk is too slow to be measured")


@contextmanager
def _delivering(path: Path) -> Iterator[tuple[Deliveries, Receiver, Receiver]]:
    door, broker, crew = Receiver(), Receiver(), Crew()
    plans = {
        "door": SinkPlan(lambda: door, Delivery.MOMENTARY),
        "broker": SinkPlan(lambda: broker, Delivery.LASTING),
    }
    recording = Recording(lambda: Ledger.open(path, create=True))
    deliveries = Deliveries("bench", plans, recording, crew)
    crew.start()
    try:
        # The first one waits for the ledger to be created.
        deliveries.postbox.announce(_decision(0))
        broker.wait_for(1)
        yield deliveries, door, broker
    finally:
        deliveries.close()
        crew.wait(PATIENCE_SECONDS)
        crew.join(PATIENCE_SECONDS)


def _wait(path: Path, events: int) -> Tail:
    with _delivering(path) as (deliveries, door, broker):
        for number in range(events):
            deliveries.postbox.announce(_decision(number))
            # One after another, as people come: nobody's wait is another one's.
            door.wait_for(number + 2)
            time.sleep(APART_SECONDS)
        broker.wait_for(events + 1)
    return tail([nanoseconds / 1e9 for nanoseconds in door.waited_ns[1:]])


def _flood(path: Path, events: int) -> float:
    with _delivering(path) as (deliveries, door, broker):
        started = time.perf_counter()
        for number in range(events):
            deliveries.postbox.announce(_decision(number))
            if number % BATCH == BATCH - 1:  # no box may be full
                door.wait_for(number + 2)
        door.wait_for(events + 1)
        broker.wait_for(events + 1)
        return time.perf_counter() - started


def tail(durations: list[float]) -> Tail:
    """Percentiles of seconds, in milliseconds."""
    values = np.array(durations) * 1000
    p50, p99 = percentiles(values, (50, 99))
    return Tail(len(durations), p50, p99, float(values.max()))


def _decision(number: int) -> DecisionMade:
    now = time.monotonic_ns()
    return DecisionMade(number, DECISION, now, now)
