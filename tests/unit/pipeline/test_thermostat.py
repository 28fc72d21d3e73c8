"""A tick reads, decides, tells the line, and a step is an event; unreadable is hot."""

from __future__ import annotations

from contextlib import AbstractContextManager

from edgefaced.config.settings import Settings
from edgefaced.core.thermal import ThermalGovernor
from edgefaced.errors import SensorError
from edgefaced.events import PaceChanged
from edgefaced.pipeline.judge import Knowledge
from edgefaced.pipeline.line import Line, Parts
from edgefaced.pipeline.thermostat import Thermostat
from edgefaced.pipeline.watch import Watcher
from edgefaced.protocols import Camera
from edgefaced.sensors.thermal import ScriptedSensor, ZoneSensor
from edgefaced.types import ColourOrder


def never() -> Camera:
    raise AssertionError("nothing is started here")


def no_watcher() -> AbstractContextManager[Watcher]:
    raise AssertionError("nothing is started here")


def no_knowledge() -> AbstractContextManager[Knowledge]:
    raise AssertionError("nothing is started here")


def idle_line() -> Line:
    return Line(
        Parts(
            camera_name="door",
            open_camera=never,
            open_watcher=no_watcher,
            open_knowledge=no_knowledge,
            sinks={},
            colour_order=ColourOrder.RGB,
            limits=Settings().quality.limits(),
        )
    )


def thermostat(*readings: float | SensorError) -> Thermostat:
    return Thermostat(ScriptedSensor(readings), ThermalGovernor(), latency_budget_ms=50)


def test_heat_slows_the_line_and_is_announced() -> None:
    line = idle_line()
    outbox = line.postbox.open_for("test")
    hot = thermostat(90.0)
    hot.tick(line, 0.0)
    assert line.pace.current.band.name == "warm"
    hot.tick(line, 1.0)
    announced = outbox.take(0)
    assert announced is not None
    assert announced.event.happening == PaceChanged("warm", "heat", 90.0)
    assert outbox.take(0) is None, "a tick without a step is no event"


def test_a_sensor_that_fails_is_hot_and_says_why() -> None:
    line = idle_line()
    outbox = line.postbox.open_for("test")
    broken = thermostat(SensorError("zone gone"), 40.0)
    broken.tick(line, 0.0)
    assert "zone gone" in str(broken.fault)
    announced = outbox.take(0)
    assert announced is not None
    assert announced.event.happening == PaceChanged("warm", "unreadable", None)
    broken.tick(line, 1.0)
    assert (broken.fault, broken.celsius) == (None, 40.0)


def test_no_zone_to_watch_is_governed_by_load_alone() -> None:
    line = idle_line()
    unwatched = Thermostat(ZoneSensor(()), ThermalGovernor(), latency_budget_ms=50)
    assert unwatched.tick(line, 0.0).level == 0
    for _ in range(40):
        line.figures.stages["detect"].record(0.2)
    assert unwatched.tick(line, 1.0).cause.value == "load"
