"""The recording stage: events into the ledger, durably, before anybody acts on them.

Everything that has gathered goes into one transaction, so that a slow disk costs fewer and larger
ones. When the ledger cannot take an event, the door goes on without: whoever waits is told that it
is not recorded, it is kept in memory, and recorded first as soon as the ledger takes it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from edgefaced.clock import boot_ns, is_synchronised
from edgefaced.errors import LedgerBusy, LedgerError
from edgefaced.events import Event, Happening, Trouble
from edgefaced.ledger.retention import Retention
from edgefaced.ledger.store import Ledger
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.figures import Stopwatch
from edgefaced.pipeline.handoff import Closed, Outbox
from edgefaced.pipeline.postbox import Announcement

TAKE_SECONDS = 0.5
BATCH = 256
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
PURGE_SECONDS = 300.0
BACKLOG = 10_000
OPENING_SECONDS = 30.0
"""A ledger that is not open after so long hangs: what happens then is told as not recorded."""


class Backlog:
    """Events that the ledger could not take; outlives a line, so that a reload loses none."""

    def __init__(self, capacity: int = BACKLOG) -> None:
        self._events: deque[Event] = deque(maxlen=capacity)
        self.lost = 0
        """Events for which there was no room; the oldest."""

    def keep(self, events: Sequence[Event]) -> None:
        room = (self._events.maxlen or 0) - len(self._events)
        self.lost += max(len(events) - room, 0)
        self._events.extend(events)

    def oldest(self) -> list[Event]:
        """The next ones to record, in their order; `drop` them then."""
        return [self._events[i] for i in range(min(BATCH, len(self._events)))]

    def drop(self, count: int) -> None:
        for _ in range(count):
            self._events.popleft()

    def __len__(self) -> int:
        return len(self._events)


@dataclass(frozen=True, slots=True)
class Recording:
    """Where a line records; `open_ledger` is called in the threads that use it."""

    open_ledger: Callable[[], Ledger]
    """Starts a ledger where there is none."""
    retention: Retention = field(default_factory=Retention)
    backlog: Backlog = field(default_factory=Backlog)


class Bell:
    """Tells those who read the ledger that there is more, and when no more will come."""

    def __init__(self, clerks: int = 0) -> None:
        """The recorder and so many clerks write; who waits for clerks as well ends after them."""
        self._changed = threading.Condition()
        self._rings = 0
        self._clerks = clerks
        self._writers = 1 + clerks

    @property
    def rings(self) -> int:
        """How often it has rung; 0 until the ledger is open."""
        return self._rings

    def ring(self) -> None:
        """The ledger is open, or has more records."""
        with self._changed:
            self._rings += 1
            self._changed.notify_all()

    def end(self) -> None:
        """One of those who write has ended; clerks end after the recorder."""
        with self._changed:
            self._writers -= 1
            self._changed.notify_all()

    def wait_after(self, rings: int, seconds: float, *, clerk: bool = False) -> None:
        """Waits until it has rung since it had rung so often, a time at most.

        Other processes record as well, and ring no bell. Raises Closed where it has not rung and
        never will again.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._rings != rings or self._over(clerk=clerk), seconds)
            if self._rings == rings and self._over(clerk=clerk):
                raise Closed

    def wait_over(self, seconds: float, *, clerk: bool = False) -> bool:
        """Waits for the end; whether it has come."""
        with self._changed:
            return self._changed.wait_for(lambda: self._over(clerk=clerk), seconds)

    def _over(self, *, clerk: bool) -> bool:
        """For a clerk, when the recorder has ended."""
        return self._writers <= (self._clerks if clerk else 0)


class Opening:
    """The first try to open the ledger. It may take its time at a boot, or after a power cut: until
    it is over, nothing is known of what the ledger takes and what it does not.
    """

    def __init__(self) -> None:
        self._over = threading.Event()
        self.over_ns = 0
        """Since when (boot time) events are recorded, or it is known that they cannot be."""

    def end(self) -> None:
        """It is open, or failed, or nobody tries any more."""
        if not self._over.is_set():
            self.over_ns = boot_ns()
            self._over.set()

    def wait(self, seconds: float) -> bool:
        """Whether it is over, now or within a time."""
        return self._over.wait(seconds)


class Recorder:
    """Body of the stage."""

    def __init__(
        self,
        inbox: Outbox[Announcement],
        recording: Recording,
        bell: Bell,
        announce: Callable[[Happening], None],
        sinks: Collection[str],
    ) -> None:
        """`sinks` are the lasting ones: each has a cursor in the ledger."""
        self._inbox = inbox
        self._recording = recording
        self._backlog = recording.backlog
        self.opening = Opening()
        self._bell = bell
        self._announce = announce
        self._sinks = sinks
        self._ledger: Ledger | None = None
        self._busy = False
        """Whether only other processes keep the ledger from being used."""
        self._pause = FIRST_PAUSE
        self._next_try = self._next_purge = 0.0
        self._lost_before = recording.backlog.lost
        self.fault = ""
        """Why nothing can be recorded at the moment; empty while all is well."""
        self.position = 0
        """The last record's place."""
        self.recorded = self.unrecorded = self.purged = 0
        """Events recorded; events of which sinks were told that they are not (yet); records that
        retention left out.
        """
        self.commits = Stopwatch()

    @property
    def waiting(self) -> int:
        """Events in memory that are still to be recorded."""
        return len(self._inbox) + len(self._backlog)

    @property
    def lost(self) -> int:
        """Events of this line that will never be recorded: memory was full."""
        return self._inbox.dropped + self._backlog.lost - self._lost_before

    def run(self, heartbeat: Heartbeat) -> None:
        """Until the inbox is closed and empty."""
        with ExitStack() as at_end:
            at_end.callback(self._close)
            self._begin(heartbeat)
            while True:
                heartbeat.beat()
                try:
                    batch = self._gather()
                except Closed:
                    break
                if batch or self._due():
                    self._take(batch)
                    self._tidy()
            self._next_try = 0.0
            self._take([])

    def _begin(self, heartbeat: Heartbeat) -> None:
        """Opens the ledger, before anybody is told that anything is not recorded.

        One that others keep busy is waited for; one that is not there is for later.
        """
        end = time.monotonic() + OPENING_SECONDS
        while True:
            heartbeat.beat()
            self._next_try = 0.0
            self._take([])
            if not self._busy or self._inbox.closed or time.monotonic() >= end:
                break
        self.opening.end()

    def finish(self) -> None:
        """Closes the input; whoever still waits for an event is told that it is not recorded."""
        self._inbox.close()
        self.opening.end()
        with suppress(Closed):
            while announcement := self._inbox.take(0):
                announcement.settle(recorded=False)
        self._bell.end()

    def _gather(self) -> list[Announcement]:
        """Everything that waits, up to a batch; nothing after a while without any."""
        first = self._inbox.take(TAKE_SECONDS)
        batch = [] if first is None else [first]
        while batch and len(batch) < BATCH and len(self._inbox):
            following = self._inbox.take(0)
            if following is not None:
                batch.append(following)
        return batch

    def _due(self) -> bool:
        """Whether there is something to do without a new event."""
        now = time.monotonic()
        idle = self._ledger is not None and not self._backlog
        return now >= (self._next_purge if idle else self._next_try)

    def _take(self, batch: Sequence[Announcement]) -> None:
        events = [announcement.event for announcement in batch]
        # Shortly after a failure nobody is kept waiting for another one.
        recorded = time.monotonic() >= self._next_try and self._record(events)
        if not recorded:
            self._backlog.keep(events)
            self.unrecorded += len(events)
        for announcement in batch:
            announcement.settle(recorded=recorded)

    def _record(self, events: Sequence[Event]) -> bool:
        """What waits first, then these; whether they are in the ledger now."""
        try:
            ledger = self._ledger or self._open()
            while waited := self._backlog.oldest():
                self._append(ledger, waited)
                self._backlog.drop(len(waited))
            if events:
                self._append(ledger, events)
        except LedgerError as error:
            self._fail(error)
            return False
        self._recover()
        return True

    def _open(self) -> Ledger:
        ledger = self._ledger = self._recording.open_ledger()
        ledger.settle_cursors(self._sinks)
        self.position = ledger.head().position
        self._bell.ring()
        if ledger.key_fault:
            self._announce(Trouble("ledger", f"is not sealed any more: {ledger.key_fault}"))
        return ledger

    def _append(self, ledger: Ledger, events: Sequence[Event]) -> None:
        started = time.perf_counter()
        records = ledger.append(events)
        self.commits.record(time.perf_counter() - started)
        self.recorded += len(records)
        self.position = records[-1].position
        self._bell.ring()

    def _tidy(self) -> None:
        """Leaves out what need not be kept, now and then; a failure is for the next time."""
        if self._ledger is None or time.monotonic() < self._next_purge:
            return
        self._next_purge = time.monotonic() + PURGE_SECONDS
        now_us = time.time_ns() // 1000 if is_synchronised() else None
        retention = self._recording.retention
        try:
            done = self._ledger.purge(retention, now_us=now_us, holders=self._sinks)
        except LedgerError as error:
            self._announce(Trouble("ledger", f"old events cannot be left out: {error}"))
            return
        self.purged += done.purged
        if done.more:
            self._next_purge = 0.0
        for sink, events in done.lost.items():
            detail = f"{events} events that {sink} had not got were left out: the ledger is full"
            self._announce(Trouble("ledger", detail))

    def _fail(self, error: LedgerError) -> None:
        if not self.fault:
            detail = f"{error}; until then events are kept in memory"
            self._announce(Trouble("ledger", detail))
        self.fault, self._busy = error.message, isinstance(error, LedgerBusy)
        # A file that was moved away or replaced is opened anew; the disk that is full, as well.
        self._close()
        self._next_try = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _recover(self) -> None:
        if self.fault:
            detail = f"records again; {self.lost} events were lost"
            self._announce(Trouble("ledger", detail))
        self.fault, self._busy, self._pause, self._next_try = "", False, FIRST_PAUSE, 0.0

    def _close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None
