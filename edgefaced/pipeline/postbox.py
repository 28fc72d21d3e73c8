"""Where stages drop what happened: into the recorder's inbox, and to whoever waits for the moment.

announce --Inbox--> record --ledger--> LASTING sinks, each from its own cursor
    |                  |
    +---Outbox-------- settles ------> MOMENTARY sinks, once it is recorded or could not be
"""

from __future__ import annotations

import threading
from dataclasses import replace

from edgefaced.clock import boot_ns
from edgefaced.events import Event, Happening
from edgefaced.pipeline.handoff import Outbox

CAPACITY = 1000

INBOX = 4000
"""Events that wait for the recorder; with nobody to take them off, the oldest are lost."""


class Announcement:
    """An event on its way into the ledger, and how that went."""

    __slots__ = ("_recorded", "_settled", "event")

    def __init__(self, event: Event) -> None:
        self.event = event
        self._settled = threading.Event()
        self._recorded = False

    def settle(self, *, recorded: bool) -> None:
        """Says once how it went; whoever waits goes on."""
        self._recorded = recorded
        self._settled.set()

    def outcome(self, patience_seconds: float, opened_ns: int = 0) -> Event:
        """The event, waited for until it is settled or was announced so long ago.

        The time of what came before the ledger was open (`opened_ns`) counts from then.
        """
        age = (boot_ns() - max(self.event.monotonic_ns, opened_ns)) / 1e9
        self._settled.wait(max(patience_seconds - age, 0.0))
        recorded = self._settled.is_set() and self._recorded
        return self.event if recorded else replace(self.event, recorded=False)


class Postbox:
    """Takes what happened from any thread; everybody gets it in the same order."""

    def __init__(self, camera: str, *, recording: bool) -> None:
        """Without `recording` nothing is stored, and momentary sinks are told so."""
        self._camera = camera
        self._lock = threading.Lock()
        self._outboxes: dict[str, Outbox[Announcement]] = {}
        self.inbox: Outbox[Announcement] | None = Outbox(INBOX) if recording else None

    def open_for(self, sink: str, capacity: int = CAPACITY) -> Outbox[Announcement]:
        """The outbox of one momentary sink; before anything is announced."""
        self._outboxes[sink] = Outbox(capacity)
        return self._outboxes[sink]

    def announce(self, happening: Happening) -> None:
        """Never blocks and never fails; a full box loses its oldest event and counts it."""
        with self._lock:
            announcement = Announcement(Event(happening, self._camera))
            refused = announcement if self.inbox is None else self.inbox.put(announcement)
            if refused is not None:
                refused.settle(recorded=False)
            self._hand_out(announcement)

    def show(self, event: Event) -> None:
        """Hands out an event that is recorded already."""
        announcement = Announcement(event)
        announcement.settle(recorded=True)
        with self._lock:
            self._hand_out(announcement)

    def close_for(self, sink: str) -> None:
        """One momentary sink gets nothing more; what waits for it is still delivered."""
        self._outboxes[sink].close()

    def close(self) -> None:
        """What was announced is still recorded and delivered, then those stages end."""
        boxes = () if self.inbox is None else (self.inbox,)
        for outbox in (*boxes, *self._outboxes.values()):
            outbox.close()

    @property
    def dropped(self) -> dict[str, int]:
        """Events lost by each momentary sink because it was too slow."""
        return {sink: outbox.dropped for sink, outbox in self._outboxes.items()}

    @property
    def waiting(self) -> dict[str, int]:
        """Events that each momentary sink has not taken yet."""
        return {sink: len(outbox) for sink, outbox in self._outboxes.items()}

    def _hand_out(self, announcement: Announcement) -> None:
        for outbox in self._outboxes.values():
            outbox.put(announcement)
