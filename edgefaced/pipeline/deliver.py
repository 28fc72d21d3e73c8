"""The delivering stages: each sink in a thread of its own, so that a slow one delays nobody."""

from __future__ import annotations

import threading

from edgefaced.errors import EdgefacedError
from edgefaced.events import Event, Happening
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.handoff import Closed, Outbox
from edgefaced.protocols import EventSink

TAKE_SECONDS = 0.5
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
CAPACITY = 1000


class Postbox:
    """Where stages drop what happened; every sink gets every event, in order."""

    def __init__(self, camera: str) -> None:
        self._camera = camera
        self._outboxes: dict[str, Outbox[Event]] = {}

    def open_for(self, sink: str, capacity: int = CAPACITY) -> Outbox[Event]:
        """The outbox of one sink; before anything is announced."""
        self._outboxes[sink] = Outbox(capacity)
        return self._outboxes[sink]

    def announce(self, happening: Happening) -> None:
        """Never blocks and never fails; a full outbox loses its oldest event and counts it."""
        event = Event(happening, self._camera)
        for outbox in self._outboxes.values():
            outbox.put(event)

    def close(self) -> None:
        """What was announced is still delivered, then the delivering stages end."""
        for outbox in self._outboxes.values():
            outbox.close()

    @property
    def dropped(self) -> dict[str, int]:
        """Events lost by each sink."""
        return {sink: outbox.dropped for sink, outbox in self._outboxes.items()}

    @property
    def waiting(self) -> dict[str, int]:
        """Events that each sink has not taken yet."""
        return {sink: len(outbox) for sink, outbox in self._outboxes.items()}


class Deliverer:
    """Body of one delivering stage: tries an event again until it is taken, or all stops."""

    def __init__(self, sink: EventSink, outbox: Outbox[Event], stop: threading.Event) -> None:
        self._sink = sink
        self._outbox = outbox
        self._stop = stop
        self.failures = 0

    def run(self, heartbeat: Heartbeat) -> None:
        """Until the outbox is closed and empty."""
        try:
            while True:
                heartbeat.beat()
                try:
                    event = self._outbox.take(TAKE_SECONDS)
                except Closed:
                    return
                if event is not None:
                    self._deliver(event, heartbeat)
        finally:
            self._sink.close()

    def _deliver(self, event: Event, heartbeat: Heartbeat) -> None:
        pause = FIRST_PAUSE
        while True:
            heartbeat.beat()
            try:
                self._sink.emit(event)
            except (OSError, EdgefacedError):
                self.failures += 1
                if self._stop.wait(pause):
                    return
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                return
