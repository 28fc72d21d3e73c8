"""Events to whoever listens at the moment: a sink that outlives the line."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from edgefaced.events import Event
from edgefaced.pipeline.handoff import Outbox

CAPACITY = 256
"""Events that wait for one listener; a slower one loses the oldest and is told how many."""


class EventHub:
    """Passes each event to every listener and waits for none."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._listeners: list[Outbox[Event]] = []
        self._over = False

    def emit(self, event: Event) -> None:
        """Never blocks and never fails."""
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener.put(event)

    def close(self) -> None:
        """The end of one line, which is not that of the listeners: see `end`."""

    def end(self) -> None:
        """The end for the listeners, once they have taken what waits for them."""
        with self._lock:
            self._over = True
            for listener in self._listeners:
                listener.close()

    @contextmanager
    def listening(self) -> Iterator[Outbox[Event]]:
        """Events from now on."""
        outbox: Outbox[Event] = Outbox(self._capacity)
        with self._lock:
            self._listeners.append(outbox)
            if self._over:
                outbox.close()
        try:
            yield outbox
        finally:
            with self._lock:
                self._listeners.remove(outbox)
