"""A pipeline of our own for as long as a command looks, where no daemon has the camera."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from edgefaced.assembly import parts_of
from edgefaced.cli.context import CliContext
from edgefaced.control.hub import EventHub
from edgefaced.daemon import STOP_SECONDS
from edgefaced.errors import CameraError
from edgefaced.events import CameraChanged
from edgefaced.pipeline.line import Line
from edgefaced.pipeline.tap import FaceTap
from edgefaced.protocols import Delivery, SinkPlan

START_SECONDS = 30.0
"""For networks to be loaded and the camera to give its first picture."""


@contextmanager
def own_line(context: CliContext) -> Iterator[tuple[Line, FaceTap, EventHub]]:
    """With the configured camera and no sink: nothing is recorded, no door opens.

    Raises what a stage failed with, CameraError where the camera gives nothing.
    """
    tap, hub = FaceTap(), EventHub()
    sinks = {"looking": SinkPlan(lambda: hub, Delivery.MOMENTARY)}
    line = Line(parts_of(context.settings(), context.places, sinks, tap))
    with hub.listening() as events:
        line.start()
        try:
            deadline = time.monotonic() + START_SECONDS
            while not line.figures.camera_up:
                event = events.take(0.2)
                if line.crew.failures:
                    raise line.crew.failures[0].error
                match event and event.happening:
                    case CameraChanged(up=False, detail=detail):
                        raise CameraError(detail)
                if time.monotonic() > deadline:
                    raise CameraError(f"no picture from the camera in {START_SECONDS:g} s")
            yield line, tap, hub
        finally:
            line.stop(STOP_SECONDS)
