"""Vitals of a daemon that has seen something, without a camera."""

from __future__ import annotations

from contextlib import AbstractContextManager

from edgefaced.config.settings import Settings
from edgefaced.core.thermal import ThermalGovernor
from edgefaced.errors import SensorError
from edgefaced.gpio.lines import InputLine
from edgefaced.pipeline.judge import Knowledge
from edgefaced.pipeline.line import Line, Parts
from edgefaced.pipeline.meter import Meter, Reading
from edgefaced.pipeline.thermostat import Thermostat
from edgefaced.pipeline.watch import Watcher
from edgefaced.protocols import Camera, Delivery, EventSink, SinkPlan
from edgefaced.sensors.npu import NpuReading
from edgefaced.sensors.thermal import ScriptedSensor
from edgefaced.types import ColourOrder, Outcome
from edgefaced.vitals import Vitals, vitals_of


def never() -> Camera:
    raise AssertionError("nothing is started here")


def no_watcher() -> AbstractContextManager[Watcher]:
    raise AssertionError("nothing is started here")


def no_knowledge() -> AbstractContextManager[Knowledge]:
    raise AssertionError("nothing is started here")


def no_line() -> InputLine:
    raise AssertionError("nothing is started here")


def no_sink() -> EventSink:
    raise AssertionError("nothing is started here")


class IdleDaemon:
    """A line that is never started, with figures as if it had run."""

    def __init__(
        self,
        reading: float | SensorError = 51.5,
        *,
        npu: NpuReading | None = None,
        motion: bool = False,
    ) -> None:
        self._npu = npu
        self.line = Line(
            Parts(
                camera_name="door",
                open_camera=never,
                open_watcher=no_watcher,
                open_knowledge=no_knowledge,
                sinks={"mqtt": SinkPlan(no_sink, Delivery.MOMENTARY)},
                colour_order=ColourOrder.RGB,
                limits=Settings().quality.limits(),
                open_motion=no_line if motion else None,
            )
        )
        self.line.postbox.open_for("mqtt", capacity=1)  # a smaller box than the plan's
        self.thermostat = Thermostat(
            ScriptedSensor((reading,)), ThermalGovernor(), latency_budget_ms=1e6
        )
        self.meter = Meter()
        figures = self.line.figures
        figures.frames.update(captured=30, looked_at=24, idle=4, stride=1, displaced=1)
        figures.looks.update(whole=4, close=20)
        figures.decisions[Outcome.KNOWN] += 2
        figures.bytes_copied, figures.tracks, figures.templates = 12345, 1, 7
        figures.camera_up = True
        self.line.crew.heartbeats["detect"].cpu_seconds = 0.18
        for milliseconds in (2, 4, 8, 2000):
            figures.stages["detect"].record(milliseconds / 1000)
        self.meter.tick(Reading(0.0, 0.0, 0, 0), active=False)
        self.meter.tick(Reading(1.0, 0.25, 30, 24), active=True)
        self.thermostat.tick(self.line, 0.0)

    def vitals(self) -> Vitals:
        return vitals_of(
            self.line, self.thermostat, self.meter, self._npu, Settings(), started_ns=0
        )
