"""A process that records and delivers until it is killed; forks one for each line it is told.

Line in:  {"folder": …, "fifo": …, "seed": …, "first": number of the first event, "most": events,
           "forever": whether more follow, four a second}
The worker announces numbered events. A momentary sink writes the number of each that is recorded to
the fifo; a lasting sink appends a line of every event to the file `delivered`; a clerk answers
each with an event that has the number. What does not stay ends with everything delivered.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nursery import fork_for_each_line

from edgefaced.events import CameraChanged, DecisionMade, Event, Happening
from edgefaced.ledger.retention import Keep, Retention
from edgefaced.ledger.store import Ledger
from edgefaced.pipeline.crew import Crew
from edgefaced.pipeline.deliveries import Deliveries
from edgefaced.pipeline.recorder import Recording
from edgefaced.protocols import ClerkPlan, Delivery, SinkPlan, SinkPlans
from edgefaced.types import Decision, Liveness, Outcome

KEPT = 150
DECISION = Decision(
    Outcome.KNOWN, "0190b2c4-0000-7000-8000-00000000000a", 0.7, 0.4, Liveness.PASSED, "match"
)


def numbered(number: int) -> Happening:
    return DecisionMade(number, DECISION, 0, 1)


def written(event: Event) -> str:
    """A line of `delivered`."""
    match event.happening:
        case DecisionMade(track_id=number):
            return f"event {number} {event.id}\n"
        case CameraChanged(detail=detail):
            return f"answer {detail} {event.id}\n"
        case _:
            return f"other 0 {event.id}\n"


class Writer:
    """Appends a line of each event to a file."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def emit(self, event: Event) -> None:
        os.write(self._descriptor, written(event).encode())

    def close(self) -> None:
        os.close(self._descriptor)


class Acknowledger:
    """Says which numbers are recorded."""

    def __init__(self, fifo: int) -> None:
        self._fifo = fifo

    def emit(self, event: Event) -> None:
        if event.recorded and isinstance(event.happening, DecisionMade):
            os.write(self._fifo, f"{event.happening.track_id} {event.id}\n".encode())

    def close(self) -> None:
        """The fifo stays open until the end."""


class Echo:
    """Answers every numbered event."""

    def answer(self, event: Event) -> Sequence[Event]:
        if not isinstance(event.happening, DecisionMade):
            return ()
        return [Event(CameraChanged(True, str(event.happening.track_id)), "clerk")]

    def close(self) -> None:
        """Nothing to close."""


def work(order: dict[str, Any]) -> None:
    folder, rng = Path(order["folder"]), random.Random(order["seed"])
    fifo = os.open(order["fifo"], os.O_WRONLY)
    recording = Recording(
        lambda: Ledger.open(folder / "events.db", create=True),
        Retention(Keep(records=KEPT)),
    )
    crew = Crew()
    plans: SinkPlans = {
        "acknowledge": SinkPlan(lambda: Acknowledger(fifo), Delivery.MOMENTARY),
        "write": SinkPlan(lambda: Writer(folder / "delivered"), Delivery.LASTING),
        "echo": ClerkPlan(Echo),
    }
    deliveries = Deliveries("door", plans, recording, crew)
    crew.start()
    number, end = order["first"], order["first"] + order["most"]
    while number < end:
        for _ in range(rng.randint(1, 4)):
            deliveries.postbox.announce(numbered(number))
            number += 1
        threading.Event().wait(rng.uniform(0, 0.01))
    while order["forever"]:  # some are not acknowledged where the disk was slower than a sink waits
        deliveries.postbox.announce(numbered(number))
        number += 1
        threading.Event().wait(0.25)
    deliveries.close()
    crew.wait(60)
    assert crew.join(60) == []
    assert crew.failures == []


if __name__ == "__main__":
    fork_for_each_line(work)
