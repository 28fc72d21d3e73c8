"""How hot the board is: the hottest of the kernel's thermal zones, and what a Raspberry Pi says.

A sensor that cannot be read raises; the governor counts that as hot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

from edgefaced.errors import SensorError

ZONES = Path("/sys/class/thermal")
PI_THROTTLED = Path("/sys/devices/platform/soc/soc:firmware/get_throttled")

PLAUSIBLE_CELSIUS = (-40.0, 150.0)
"""Outside, a reading is a broken driver: some give 0 K, some give a constant of 2**31."""

PI_HOT_BITS = 0x2 | 0x4 | 0x8
"""Raspberry Pi firmware flags: frequency capped, throttled, soft temperature limit, all "now"."""

PI_HOT_CELSIUS = 82.0
"""What counts as the temperature while the firmware throttles, whatever the sensor says."""


class ThermalSensor(Protocol):
    """Reads the board's temperature."""

    def read(self) -> float | None:
        """°C of the hottest place; None where the configuration names no zone to read.

        Raises SensorError where a zone that should be read cannot be.
        """
        ...


@dataclass(frozen=True, slots=True)
class ZoneSensor:
    """All zones of sysfs whose type matches one of `patterns` ("*" is every zone)."""

    patterns: Sequence[str] = ("*",)
    zones: Path = ZONES
    throttled: Path = PI_THROTTLED

    def read(self) -> float | None:
        """Raises SensorError for no matching zone, one that cannot be read, or nonsense in it."""
        if not self.patterns:
            return None
        readings = [self._zone(folder) for folder in self._matching()]
        if not readings:
            wanted = ", ".join(self.patterns)
            raise SensorError(
                f"no thermal zone of type {wanted} in {self.zones}",
                "set thermal.zones; an empty list turns the governor's sensor off",
            )
        return max([*readings, self._firmware()])

    def _matching(self) -> list[Path]:
        found = []
        for folder in sorted(self.zones.glob("thermal_zone*")):
            try:
                kind = (folder / "type").read_text().strip()
            except OSError:
                continue  # a zone that has just gone; its own reading would say no more
            if any(fnmatch(kind, pattern) for pattern in self.patterns):
                found.append(folder)
        return found

    def _zone(self, folder: Path) -> float:
        try:
            celsius = int((folder / "temp").read_text()) / 1000
        except (OSError, ValueError) as error:
            raise SensorError(f"{folder / 'temp'}: {error}", "the board counts as hot") from error
        low, high = PLAUSIBLE_CELSIUS
        if not low < celsius < high:
            raise SensorError(f"{folder / 'temp'} reads {celsius:g} °C", "the board counts as hot")
        return celsius

    def _firmware(self) -> float:
        """The temperature that a Pi's firmware implies: very hot while it throttles."""
        try:
            flags = int(self.throttled.read_text(), 16)
        except (OSError, ValueError):
            return float("-inf")  # not a Pi
        return PI_HOT_CELSIUS if flags & PI_HOT_BITS else float("-inf")


class ScriptedSensor:
    """Gives one reading after another, then the last one for ever; an error is raised."""

    def __init__(self, readings: Sequence[float | SensorError]) -> None:
        self._readings = list(readings)

    def read(self) -> float | None:
        reading = self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]
        if isinstance(reading, SensorError):
            raise reading
        return reading
