"""The delivering stages: each sink in a thread of its own, so that a slow one delays nobody.

A sink that is away is no fault of the process: its stage beats on, tries again with growing
pauses, and says once that there is trouble.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Protocol, TypeVar

from edgefaced.errors import EdgefacedError, EventRefused, LedgerError
from edgefaced.events import Event, Happening, Trouble
from edgefaced.ledger.records import Cursor, Record
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.turn import sole_reader
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.handoff import Closed, Outbox
from edgefaced.pipeline.postbox import Announcement
from edgefaced.pipeline.recorder import OPENING_SECONDS, Bell, Opening
from edgefaced.protocols import Clerk, EventSink

TAKE_SECONDS = 0.5
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
BATCH = 64

HANGS_SECONDS = 5.0
"""Longer than any momentary sink takes for an event, be it on a busy board."""

NOTE_SECONDS = 0.1
"""While a sink catches up, its cursor is written so often: what it took since comes again after a
crash.
"""

FAREWELL_SECONDS = 3.0
"""How long a stopping process goes on with what waits; the rest is for the next start."""

Opened = TypeVar("Opened")


class Attempts:
    """What a sink refuses: counted, announced once in a row, and pauses that grow."""

    def __init__(
        self,
        sink: str,
        announce: Callable[[Happening], None],
        stop: threading.Event,
        ended: Callable[[float], bool],
    ) -> None:
        """`ended` waits for so many seconds and says whether nothing more will come."""
        self._sink = sink
        self._announce = announce
        self._stop = stop
        self._ended = ended
        self._pause = FIRST_PAUSE
        self.failures = 0
        self.fault = ""
        """What it said last; empty while it takes events."""

    def failed(self, error: OSError | EdgefacedError) -> None:
        self.failures += 1
        detail = (error.message if isinstance(error, EdgefacedError) else str(error)) or repr(error)
        # The ledger's own trouble is announced by the recorder, once for all.
        if not self.fault and not isinstance(error, LedgerError):
            self.say(detail)
        self.fault = detail

    def hung(self, detail: str) -> None:
        """It has neither taken nor refused what it got."""
        self.failures += 1
        self.say(detail)
        self.fault = detail

    def say(self, detail: str) -> None:
        self._announce(Trouble(self._sink, detail))

    def well(self) -> None:
        self.fault, self._pause = "", FIRST_PAUSE

    def rest(self, heartbeat: Heartbeat) -> bool:
        """A pause in which the stage beats; False where there will be no other try.

        The end of a replay that comes in the middle brings the last try at once.
        """
        if self._stop.is_set() or self._ended(0):
            return False
        end = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        while (left := end - time.monotonic()) > 0 and not self._ended(min(left, TAKE_SECONDS)):
            heartbeat.beat()
            if self._stop.is_set():
                return False
        return True

    def opened(self, open_it: Callable[[], Opened], heartbeat: Heartbeat) -> Opened | None:
        """Tries until it opens; None where the line ends before."""
        while True:
            heartbeat.beat()
            try:
                return open_it()
            except (OSError, EdgefacedError) as error:
                self.failed(error)
            if not self.rest(heartbeat):
                return None


class Momentary:
    """Body of a stage: every event once, as soon as it is recorded or could not be.

    A sink that hangs hangs alone; `look` is how it is noticed.
    """

    def __init__(
        self,
        open_sink: Callable[[], EventSink],
        outbox: Outbox[Announcement],
        attempts: Attempts,
        patience_seconds: float,
        opening: Opening | None,
        stop: threading.Event,
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        """`opening` is that of the ledger, None where nothing is recorded."""
        self._open_sink = open_sink
        self._outbox = outbox
        self._patience_seconds = patience_seconds
        self._opening = opening
        self._stop = stop
        self._idle = idle
        self.attempts = attempts
        self._busy_since: float | None = None
        self._hangs = self._loses = False
        self._lost = 0

    def look(self) -> None:
        """Says that the sink hangs or loses events, once in a row; from any one thread."""
        since, lost = self._busy_since, self._outbox.dropped
        hangs = since is not None and time.monotonic() - since > HANGS_SECONDS
        if hangs and not self._hangs:
            self.attempts.hung(f"hangs: it has not taken an event for {HANGS_SECONDS:.0f} s")
        self._hangs = hangs
        if lost > self._lost and not self._loses:
            self._loses = True
            self.attempts.say("loses events: they come faster than it takes them")
        elif self._loses and not len(self._outbox):
            self.attempts.say(f"keeps up again; {lost - self._lost} events were lost")
            self._loses, self._lost = False, lost

    def run(self, heartbeat: Heartbeat) -> None:
        """Until the outbox is closed and empty."""
        sink = self.attempts.opened(self._open_sink, heartbeat)
        if sink is None:
            return
        with closing(sink):
            opened_ns = self._await_ledger(heartbeat)
            while True:
                heartbeat.beat()
                try:
                    announcement = self._outbox.take(TAKE_SECONDS)
                except Closed:
                    return
                if announcement is None:
                    self._idle()
                else:
                    self._deliver(sink, announcement.outcome(self._patience_seconds, opened_ns))

    def _await_ledger(self, heartbeat: Heartbeat) -> int:
        """When the ledger was opened: one that opens slowly refuses nothing.

        One that hangs is not waited for longer than anybody waits at a door.
        """
        end = time.monotonic() + OPENING_SECONDS
        while self._opening is not None and not self._opening.wait(TAKE_SECONDS):
            heartbeat.beat()
            if self._stop.is_set() or time.monotonic() >= end:
                break
        return 0 if self._opening is None else self._opening.over_ns

    def _deliver(self, sink: EventSink, event: Event) -> None:
        self._busy_since = time.monotonic()
        try:
            sink.emit(event)
        except (OSError, EdgefacedError) as error:
            self.attempts.failed(error)
        else:
            self.attempts.well()
        finally:
            self._busy_since = None


class Desk(Protocol):
    """What is done with each record."""

    def serve(self, ledger: Ledger, record: Record) -> None:
        """Raises OSError or EdgefacedError to be asked again."""
        ...

    def close(self) -> None: ...


class SinkDesk:
    """Gives a record to a sink. The cursor is moved afterwards: at least once."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink

    def serve(self, ledger: Ledger, record: Record) -> None:
        self._sink.emit(record.event)

    def close(self) -> None:
        self._sink.close()


class ClerkDesk:
    """Records a clerk's answer, which moves its cursor in the same transaction: exactly once."""

    def __init__(
        self,
        name: str,
        clerk: Clerk,
        recorded: Callable[[tuple[Record, ...]], None],
    ) -> None:
        """`recorded` is told of every answer."""
        self._name = name
        self._clerk = clerk
        self._recorded = recorded

    def serve(self, ledger: Ledger, record: Record) -> None:
        answers = self._clerk.answer(record.event)
        if answers:
            self._recorded(ledger.append_and_advance(answers, self._name, record.position))

    def close(self) -> None:
        self._clerk.close()


class Lasting:
    """Body of a stage: every record in order, from the sink's own cursor on, until it is taken."""

    def __init__(
        self,
        name: str,
        open_desk: Callable[[], Desk],
        open_ledger: Callable[[], Ledger],
        bell: Bell,
        attempts: Attempts,
        stop: threading.Event,
        *,
        clerk: bool,
    ) -> None:
        """A `clerk` ends before those who get its answers."""
        self._clerk = clerk
        self._name = name
        self._open_desk = open_desk
        self._open_ledger = open_ledger
        self._bell = bell
        self._stop = stop
        self._stopped_at: float | None = None
        self.attempts = attempts
        self.cursor = Cursor(0, 0)
        self._ledger_id = b""
        self.refused = 0
        """Events that the sink will never take; each was passed over."""

    def run(self, heartbeat: Heartbeat) -> None:
        """Until the line has ended and all is delivered, or until a refusal after its end."""
        try:
            while not self._bell.rings:
                heartbeat.beat()
                self._bell.wait_after(0, TAKE_SECONDS, clerk=self._clerk)
        except Closed:  # the ledger was never open
            return
        desk = self.attempts.opened(self._open_desk, heartbeat)
        if desk is None:
            return
        with closing(desk):
            while True:
                try:
                    with (
                        self._open_ledger() as ledger,
                        sole_reader(ledger.database.path, self._name),
                    ):
                        self._deliver(desk, ledger, heartbeat)
                        return
                except LedgerError as error:
                    self.attempts.failed(error)
                if not self.attempts.rest(heartbeat):
                    return

    def _deliver(self, desk: Desk, ledger: Ledger, heartbeat: Heartbeat) -> None:
        """Raises LedgerError where the ledger must be opened again."""
        if ledger.id != self._ledger_id:  # another one: positions of the one before say nothing
            self._ledger_id, self.cursor = ledger.id, Cursor(0, 0)
        while not self._must_go():
            heartbeat.beat()
            ledger.refuse_replaced()
            rings = self._bell.rings
            head, stored = ledger.head().position, ledger.cursors().get(self._name, Cursor(0, 0))
            self._take_over(stored)
            if stored.position < self.cursor.position:  # what was served, and could not be noted
                ledger.advance(self._name, self.cursor.position)
            records = ledger.after(self.cursor.position, BATCH)
            if records:
                taken = self._serve(desk, ledger, records, heartbeat)
                if not taken and not self.attempts.rest(heartbeat):
                    return
                continue
            if self.cursor.position < head:  # what is left was redacted
                ledger.advance(self._name, head)
                continue
            try:
                self._bell.wait_after(rings, TAKE_SECONDS, clerk=self._clerk)
            except Closed:
                return

    def _serve(
        self, desk: Desk, ledger: Ledger, records: tuple[Record, ...], heartbeat: Heartbeat
    ) -> bool:
        """One after another; False at the first that is not taken."""
        noted, taken = time.monotonic(), True
        for record in records:
            if self._must_go():
                break
            heartbeat.beat()
            try:
                desk.serve(ledger, record)
            except LedgerError:
                raise
            except EventRefused as error:
                self.attempts.failed(error)
                self.refused += 1
            except (OSError, EdgefacedError) as error:
                self.attempts.failed(error)
                taken = False
                break
            else:
                self.attempts.well()
            self._take_over(Cursor(record.position, self.cursor.lost))
            if time.monotonic() - noted > NOTE_SECONDS:
                ledger.advance(self._name, record.position)
                noted = time.monotonic()
        ledger.advance(self._name, self.cursor.position)
        return taken

    def _take_over(self, stored: Cursor) -> None:
        """A cursor never goes back, also where another process has forgotten it."""
        self.cursor = Cursor(max(stored.position, self.cursor.position), stored.lost)

    def _must_go(self) -> bool:
        if not self._stop.is_set():
            return False
        self._stopped_at = self._stopped_at or time.monotonic()
        return time.monotonic() - self._stopped_at > FAREWELL_SECONDS
