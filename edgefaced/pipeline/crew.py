"""Threads that live and die together: one failure stops all, and stopping has a deadline."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass


class Heartbeat:
    """Progress of one stage: it moves only when the stage really went round its loop."""

    def __init__(self) -> None:
        self.beats = 0
        self.last_ns = time.monotonic_ns()
        self.cpu_seconds = 0.0
        """Processor time of the stage's thread so far; it never held Python's lock for longer."""

    def beat(self) -> None:
        """By the stage's own thread."""
        self.beats += 1
        self.last_ns = time.monotonic_ns()
        self.cpu_seconds = time.thread_time()


@dataclass(frozen=True, slots=True)
class Failure:
    """The first error of a stage, with its trace for the log."""

    stage: str
    error: Exception
    trace: str


@dataclass(frozen=True, slots=True)
class Straggler:
    """A thread that did not stop in time, and where it hangs."""

    stage: str
    stack: str


Body = Callable[[Heartbeat], None]


class Crew:
    """Runs stage bodies in threads of their own.

    A body loops until `stop` is set and beats once a round. However it ends, its `finish` is
    called, which closes its input and its output, so that the end runs through all stages: in
    order where a replay is over, at once after a failure.
    """

    def __init__(self, stop: threading.Event | None = None) -> None:
        self.stop = stop or threading.Event()
        self.heartbeats: dict[str, Heartbeat] = {}
        self.failures: list[Failure] = []
        self.tell_failure: Callable[[Failure], None] = _nobody_to_tell
        """Called by the stage that fails, before it closes anything."""
        self._threads: list[threading.Thread] = []
        self._vital: set[str] = set()

    def add(
        self, stage: str, body: Body, finish: Callable[[], None], *, vital: bool = True
    ) -> None:
        """Adds a stage; nothing runs before `start`. One that is not vital may stand still."""
        heartbeat = Heartbeat()
        self.heartbeats[stage] = heartbeat
        if vital:
            self._vital.add(stage)

        def run() -> None:
            try:
                body(heartbeat)
            except Exception as error:  # noqa: BLE001 - the one stage wrapper: all ends here
                failure = Failure(stage, error, traceback.format_exc())
                self.failures.append(failure)
                self.tell_failure(failure)
                self.stop.set()
            finally:
                finish()

        # Daemonic, so that a thread that hangs in a driver cannot keep a dying process alive.
        self._threads.append(threading.Thread(target=run, name=stage, daemon=True))

    def start(self) -> None:
        """Starts every stage, in the order in which they were added."""
        for thread in self._threads:
            thread.start()

    def moved_since(self, monotonic_ns: int) -> bool:
        """Whether every vital stage has gone round its loop since then, at least once ever."""
        hearts = [heart for stage, heart in self.heartbeats.items() if stage in self._vital]
        return all(heart.beats and heart.last_ns > monotonic_ns for heart in hearts)

    def working(self) -> bool:
        """Whether any stage still runs."""
        return any(thread.is_alive() for thread in self._threads)

    def wait(self, seconds: float) -> bool:
        """Whether every stage ends by itself within `seconds`; stops none."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))
        return not self.working()

    def join(self, deadline_seconds: float) -> list[Straggler]:
        """Stops every stage and waits; those that still run after the deadline, with stacks."""
        self.stop.set()
        end = time.monotonic() + deadline_seconds
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(end - time.monotonic(), 0.0))
        frames = sys._current_frames()
        return [
            Straggler(thread.name, "".join(traceback.format_stack(frames[thread.ident])))
            for thread in self._threads
            if thread.is_alive() and thread.ident in frames
        ]


def _nobody_to_tell(failure: Failure) -> None:
    """A crew whose failures are read when it has ended."""
