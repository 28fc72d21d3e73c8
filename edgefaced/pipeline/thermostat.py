"""Once a second: temperature and load in, the pace on the board, a step as an event."""

from __future__ import annotations

from collections.abc import Mapping

from edgefaced.core.thermal import Pace, ThermalGovernor
from edgefaced.errors import SensorError
from edgefaced.events import PaceChanged
from edgefaced.pipeline.line import Line
from edgefaced.sensors.thermal import ThermalSensor

COOL_ENOUGH_CELSIUS = 0.0
"""Stands for the temperature where the configuration says to read none: load alone governs."""


class Thermostat:
    """Governs one line; called by the main thread."""

    def __init__(
        self, sensor: ThermalSensor, governor: ThermalGovernor, *, latency_budget_ms: float
    ) -> None:
        self._sensor = sensor
        self._governor = governor
        self._budget_seconds = latency_budget_ms / 1000
        self.celsius: float | None = None
        self.fault: str | None = None
        """Why no temperature is known: it counts as hot."""
        self.zones: Mapping[str, float] = {}
        """°C by zone, of the last tick."""

    def tick(self, line: Line, now: float) -> Pace:
        """Reads, decides, and tells the line; `now` in monotonic seconds."""
        try:
            reading = self._sensor.read()
            self.celsius, self.fault = reading, None
        except SensorError as error:
            reading, self.celsius, self.fault = None, None, str(error)
        else:
            reading = COOL_ENOUGH_CELSIUS if reading is None else reading
        self.zones = dict(self._sensor.zones)
        pace = self._governor.update(reading, self._load(line), now)
        line.pace.current = pace
        if pace.stepped:
            line.postbox.announce(PaceChanged(pace.band.name, pace.cause.value, self.celsius))
        return pace

    def _load(self, line: Line) -> float | None:
        p95 = line.figures.stages["detect"].snapshot().p95
        return None if p95 is None else p95 / self._budget_seconds
