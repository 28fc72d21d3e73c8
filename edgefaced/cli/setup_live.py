"""The end of `edgefaced setup`: what the camera sees, for somebody who steps in front of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from edgefaced.cli.context import CliContext
from edgefaced.cli.own_line import own_line
from edgefaced.control.client import ControlClient, connect
from edgefaced.control.hub import EventHub
from edgefaced.errors import EdgefacedError, NotRunning
from edgefaced.pipeline.line import Line
from edgefaced.pipeline.tap import FaceTap
from edgefaced.setup.live import face_found, in_plain_words
from edgefaced.sinks.names import GalleryNames
from edgefaced.sinks.wire import described

LOOK_SECONDS = 0.2
ASK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Seen:
    """`fault` is why the camera gave nothing, empty where it works; `lines` is what was said."""

    fault: str
    lines: tuple[str, ...]


def look(context: CliContext, seconds: float, say: Callable[[str], None]) -> Seen:
    """Through the running daemon, else with the camera itself. Ctrl-C only ends it early."""
    lines: list[str] = []
    fault = ""
    try:
        for line in _lines(context, seconds):
            lines.append(line)
            say(line)
    except EdgefacedError as error:
        fault = str(error)
    except KeyboardInterrupt:
        say("stopped looking")
    return Seen(fault, tuple(lines))


def _lines(context: CliContext, seconds: float) -> Iterator[str]:
    sockets = context.places.control_sockets(context.settings())
    try:
        client = connect(sockets)
    except NotRunning:
        with own_line(context) as (line, tap, hub):
            yield "the camera gives pictures"
            yield from _of_a_line(context, line, tap, hub, seconds)
    else:
        with client:
            yield from _of_the_daemon(client, sockets, seconds)


def _of_the_daemon(client: ControlClient, sockets: Sequence[Path], seconds: float) -> Iterator[str]:
    client.ask("events")
    end, up, faces = time.monotonic() + seconds, None, 0
    while (left := end - time.monotonic()) > 0:
        with connect(sockets) as asked:
            status = asked.ask("status")["status"]
        if status["camera"]["up"] is not up:
            up = status["camera"]["up"]
            yield f"camera {status['camera']['name']}: {'gives pictures' if up else 'DOWN'}"
        # Who stood there already was decided before: no event comes of it.
        if status["faces_in_view"] != faces:
            faces = status["faces_in_view"]
            yield f"faces in view: {faces}"
        for body in client.follow(min(left, ASK_SECONDS)):
            if (said := in_plain_words(body)) is not None:
                yield said
    if not up:
        raise NotRunning("the daemon's camera gives no pictures", "`journalctl -u edgefaced`")


def _of_a_line(
    context: CliContext, line: Line, tap: FaceTap, hub: EventHub, seconds: float
) -> Iterator[str]:
    seen: set[int] = set()
    end = time.monotonic() + seconds
    with (
        closing(GalleryNames(context.places.gallery_file, context.places.key_file)) as names,
        hub.listening() as events,
        tap.watching() as batches,
    ):
        while (left := end - time.monotonic()) > 0:
            batch = batches.take(0.0)
            for face in () if batch is None else batch.faces:
                if face.track.id not in seen:
                    seen.add(face.track.id)
                    yield face_found(face.detection.box.width)
            event = events.take(min(left, LOOK_SECONDS))
            if event and (said := in_plain_words(described(event, names.name_of))):
                yield said
            if line.crew.failures:
                raise line.crew.failures[0].error
