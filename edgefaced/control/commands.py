"""What the daemon does for those who ask at its socket."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from edgefaced.control.contract import (
    Document,
    EventsRequest,
    ReloadRequest,
    Request,
    StatusRequest,
    answer,
)
from edgefaced.control.hub import EventHub
from edgefaced.control.peer import Access
from edgefaced.control.server import Answers
from edgefaced.control.status import status
from edgefaced.errors import Forbidden
from edgefaced.events import Event
from edgefaced.pipeline.handoff import Closed
from edgefaced.sinks.names import GalleryNames
from edgefaced.sinks.shape import document, person_of
from edgefaced.vitals import Vitals

TAKE_SECONDS = 1.0
"""After so long without an event it is seen whether the client is still there."""


class Commands:
    """Answers requests, each in the thread of its client."""

    def __init__(
        self,
        vitals: Callable[[], Vitals],
        reload: Callable[[], None],
        hub: EventHub,
        open_names: Callable[[], GalleryNames],
    ) -> None:
        """`open_names` gives whoever may know names a look-up of its own."""
        self._vitals = vitals
        self._reload = reload
        self._hub = hub
        self._open_names = open_names

    def answer(self, request: Request, access: Access) -> Answers:
        """Raises Forbidden for what the client may not."""
        match request:
            case StatusRequest():
                yield answer({"status": status(self._vitals())})
            case EventsRequest():
                yield from self._events(named=access is Access.FULL)
            case ReloadRequest():
                _require_full(access, request.command)
                self._reload()
                yield answer({})

    def _events(self, *, named: bool) -> Answers:
        told = 0
        with closing(self._open_names()) as names, self._hub.listening() as events:
            yield answer({"stream": True})
            while True:
                try:
                    event = events.take(TAKE_SECONDS)
                except Closed:
                    return
                if events.dropped > told:
                    lost, told = events.dropped - told, events.dropped
                    yield {"type": "lost", "events": lost}
                yield None if event is None else _document(event, names if named else None)


def _document(event: Event, names: GalleryNames | None) -> Document:
    person = person_of(event)
    return document(event, None if names is None or person is None else names.name_of(person))


def _require_full(access: Access, command: str) -> None:
    if access is not Access.FULL:
        raise Forbidden(
            f'"{command}" is for root and the daemon\'s own user',
            "or for its group with control.group_access",
        )
