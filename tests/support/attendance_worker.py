"""A process that records decisions and attendance until it is killed; forks one worker per line.

Line in:  {"folder": …, "fifo": …, "seed": …}
The worker writes "opened" to the fifo, then the id of every event that the ledger has.
"""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import Any

from nursery import fork_for_each_line

from edgefaced.attendance.clerk import NAME, clerk_plan
from edgefaced.core.attendance import AttendanceRules, Mode, WorkingDays
from edgefaced.core.clocks import local_time
from edgefaced.events import Attended, DecisionMade, Event
from edgefaced.ledger.store import Ledger
from edgefaced.pipeline.crew import Crew
from edgefaced.pipeline.deliveries import Deliveries
from edgefaced.pipeline.recorder import Recording
from edgefaced.protocols import Delivery, SinkPlan
from edgefaced.types import Decision, Liveness, Outcome

PEOPLE = ("ann", "bob", "cy")


class Speaking:
    """Says the id of every event that is recorded."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self.attended = threading.Semaphore(0)
        """Released for every record of attendance."""

    def emit(self, event: Event) -> None:
        if self._descriptor is not None and event.recorded:
            os.write(self._descriptor, f"{event.id}\n".encode())
        if isinstance(event.happening, Attended):
            self.attended.release()

    def close(self) -> None:
        return None


def deliveries(folder: Path, speaking: Speaking, crew: Crew) -> Deliveries:
    """As the daemon has them: a recorder, the clerk, and somebody who is told at once."""
    path = folder / "events.db"
    zone = local_time(Event(_decision("x"), "door").utc, 0).tzinfo
    assert zone is not None
    rules = AttendanceRules(Mode.ALTERNATING, WorkingDays(zone), cool_down=0.0)
    return Deliveries(
        "door",
        {
            NAME: clerk_plan(rules, path, needs_liveness=False),
            "speaking": SinkPlan(lambda: speaking, Delivery.MOMENTARY),
        },
        Recording(lambda: Ledger.open(path, create=True)),
        crew,
    )


def work(order: dict[str, Any]) -> None:
    fifo = os.open(order["fifo"], os.O_WRONLY)
    rng = random.Random(order["seed"])
    speaking, crew = Speaking(fifo), Crew()
    line = deliveries(Path(order["folder"]), speaking, crew)
    crew.start()
    os.write(fifo, b"opened\n")
    while True:
        decisions = rng.randint(1, 3)
        for _ in range(decisions):
            line.postbox.announce(_decision(rng.choice(PEOPLE)))
        for _ in range(decisions):  # or as many that an earlier worker left behind
            speaking.attended.acquire()


def finish(folder: Path) -> None:
    """Whatever is still to be done, as a daemon does that is started and ended in order."""
    crew = Crew()
    line = deliveries(folder, Speaking(None), crew)
    line.close()
    crew.start()
    if not crew.wait(120):
        raise AssertionError("the deliveries do not end")
    if crew.failures:
        raise AssertionError(crew.failures)


def _decision(person: str) -> DecisionMade:
    known = Decision(Outcome.KNOWN, person, 0.7, 0.3, Liveness.NOT_CHECKED, "frames agree")
    return DecisionMade(1, known, 0, 1)


if __name__ == "__main__":
    fork_for_each_line(work)
