"""What the daemon does for those who ask at its socket."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from itertools import chain

from edgefaced.control.contract import (
    Document,
    DoorOrderRequest,
    DoorsRequest,
    EnrolRequest,
    EventsRequest,
    ReloadRequest,
    Request,
    SnapshotRequest,
    StatusRequest,
    answer,
    refusal,
)
from edgefaced.control.hub import EventHub
from edgefaced.control.peer import Access, Peer
from edgefaced.control.server import Answers
from edgefaced.control.snapshots import Pictures, snapshot
from edgefaced.control.status import status
from edgefaced.doors.house import House
from edgefaced.enrolment.report import EnrolmentReport, report_body
from edgefaced.errors import ControlBusy, Forbidden, Refused
from edgefaced.events import Event
from edgefaced.pipeline.handoff import Closed
from edgefaced.sinks.names import GalleryNames
from edgefaced.sinks.shape import discreet, document, person_of
from edgefaced.sitting import Guidance, Sitting
from edgefaced.vitals import Vitals

UNLOCKING = ("open", "hold-open")

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
        sitting: Callable[[EnrolRequest], Sitting],
        pictures: Pictures,
        house: Callable[[], House | None] = lambda: None,
    ) -> None:
        """`open_names` gives whoever may know names a look-up of its own; `house` the doors."""
        self._vitals = vitals
        self._reload = reload
        self._hub = hub
        self._open_names = open_names
        self._sitting = sitting
        self._pictures = pictures
        self._house = house
        self._chair = threading.Lock()

    def answer(self, request: Request, access: Access, peer: Peer) -> Answers:
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
            case SnapshotRequest():
                _require_full(access, request.command)
                yield from snapshot(request, peer, self._pictures)
            case EnrolRequest():
                _require_full(access, request.command)
                yield from self._enrol(request)
            case DoorsRequest():
                house = self._house()
                doors = () if house is None else house.statuses()
                yield answer({"doors": [asdict(door) for door in doors]})
            case DoorOrderRequest():
                _require_full(access, request.command)
                obey(request, self._house(), f"by user {peer.uid}")
                yield answer({})

    def _enrol(self, request: EnrolRequest) -> Answers:
        if not self._chair.acquire(blocking=False):
            raise ControlBusy("somebody else is being enrolled", "wait until that is over")
        try:
            sitting = self._sitting(request)
            held = sitting.hold(request.name, seconds=request.seconds, consent=request.consent)
            with closing(held) as steps:
                # The first step checks the name; whoever is refused has no stream.
                first = next(steps)
                yield answer({"stream": True})
                for step in chain((first,), steps):
                    yield None if step is None else step_document(step)
        finally:
            self._chair.release()

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


def obey(request: DoorOrderRequest, house: House | None, by: str) -> None:
    """Does to doors what an operator wants. Raises Refused or StorageError."""
    if house is None:
        raise Refused("the daemon has no doors", "`[doors.NAME]` in the configuration makes one")
    if request.order in UNLOCKING and not request.doors:
        raise Refused(f'"{request.order}" unlocks no door that is not named')
    match request.order:
        case "lockdown":
            house.lockdown(request.doors, by)
        case "normal":
            house.normal(request.doors, by)
        case "hold-open":
            house.hold_open(request.doors, request.seconds, by)
        case "open":
            house.open(request.doors, by)
        case "trust-camera":
            house.trust_camera(by)


def step_document(step: Guidance | EnrolmentReport) -> Document:
    """A step of a sitting: guidance, and last a report with "ok"."""
    if isinstance(step, Guidance):
        return {
            "type": "guidance",
            "advice": step.advice.value,
            "words": step.words,
            "taken": [pose.value for pose in step.taken],
            "missing": [pose.value for pose in step.missing],
        }
    body = {"type": "report", **report_body(step)}
    return answer(body) if step.refusal is None else refusal(step.refusal, body)


def _document(event: Event, names: GalleryNames | None) -> Document:
    """Who may know no names is told of no duress alarm either."""
    if names is None:
        return document(discreet(event))
    person = person_of(event)
    return document(event, None if person is None else names.name_of(person))


def _require_full(access: Access, command: str) -> None:
    if access is not Access.FULL:
        raise Forbidden(
            f'"{command}" is for root and the daemon\'s own user',
            "or for its group with control.group_access",
        )
