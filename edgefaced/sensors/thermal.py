"""How hot the board is: the hottest of the kernel's thermal zones, and what a Raspberry Pi says.

A sensor that cannot be read raises; the governor counts that as hot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

from edgefaced.errors import SensorError

ZONES = Path("/sys/class/thermal")
PI_FIRMWARE = Path("/sys/bus/platform/drivers/raspberrypi-firmware")
"""The driver's folder: the device below it has another place on every model."""

PLAUSIBLE_CELSIUS = (-40.0, 150.0)
"""Outside, a reading is a broken driver: some give 0 K, some give a constant of 2**31."""

PI_HOT_BITS = 0x2 | 0x4 | 0x8
"""Raspberry Pi firmware flags: frequency capped, throttled, soft temperature limit, all "now"."""

PI_HOT_CELSIUS = 82.0
"""What counts as the temperature while the firmware throttles, whatever the sensor says."""


HOT = "the board counts as hot; thermal.zones names the zones that matter"


class ThermalSensor(Protocol):
    """Reads the board's temperature."""

    @property
    def zones(self) -> Mapping[str, float]:
        """°C by zone at the last `read`; empty where that raised."""
        ...

    def read(self) -> float | None:
        """°C of the hottest place; None where the configuration names no zone to read.

        Raises SensorError where a zone that should be read cannot be.
        """
        ...


class ZoneSensor:
    """All zones of sysfs whose type matches one of `patterns` ("*" is every zone).

    Zones may come while it runs. One that has been read and is gone is missed: the board counts as
    hot until it is back, under whatever number.
    """

    def __init__(
        self,
        patterns: Sequence[str] = ("*",),
        *,
        zones: Path = ZONES,
        firmware: Path = PI_FIRMWARE,
    ) -> None:
        self.zones: dict[str, float] = {}
        self._patterns = tuple(patterns)
        self._folder = zones
        self._firmware = firmware
        self._known: Counter[str] = Counter()
        """The most zones of each type that were there at once."""

    def read(self) -> float | None:
        """Raises SensorError for a pattern that no zone matches, a zone that is missed or cannot
        be read, and nonsense in one.
        """
        self.zones = {}
        if not self._patterns:
            return None
        found = self._matching()
        self._miss_nothing(found)
        alike = Counter(kind for _, kind in found)
        # Several of one type are told apart by the zone's folder.
        zones = {
            kind if alike[kind] == 1 else f"{kind} {folder.name}": _celsius(folder)
            for folder, kind in found
        }
        hottest = max([*zones.values(), *self._throttled()])
        self.zones = zones
        return hottest

    def _matching(self) -> list[tuple[Path, str]]:
        """Folders and types."""
        found = []
        for folder in sorted(self._folder.glob("thermal_zone*")):
            try:
                kind = (folder / "type").read_bytes().decode("utf-8", "replace").strip()
            except FileNotFoundError:
                continue  # it has just gone
            except OSError as error:
                raise _unreadable(folder / "type", error) from error
            if any(fnmatch(kind, pattern) for pattern in self._patterns):
                found.append((folder, kind))
        return found

    def _miss_nothing(self, found: Sequence[tuple[Path, str]]) -> None:
        there = Counter(kind for _, kind in found)
        for pattern in self._patterns:
            if not any(fnmatch(kind, pattern) for kind in there):
                raise SensorError(
                    f"no thermal zone of type {pattern} in {self._folder}",
                    "set thermal.zones; an empty list turns the governor's sensor off",
                )
        if missed := sorted((self._known - there).elements()):
            raise SensorError(
                f"a thermal zone has gone: {', '.join(missed)}",
                HOT,
            )
        self._known |= there

    def _throttled(self) -> list[float]:
        """The temperature that a Pi's firmware implies: very hot while it throttles."""
        found = []
        for file in sorted(self._firmware.glob("*/get_throttled")):
            try:
                flags = int(file.read_bytes(), 16)
            except (OSError, ValueError) as error:
                raise _unreadable(file, error) from error
            if flags & PI_HOT_BITS:
                found.append(PI_HOT_CELSIUS)
        return found


def _celsius(zone: Path) -> float:
    file = zone / "temp"
    try:
        celsius = int(file.read_bytes()) / 1000
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from error
    low, high = PLAUSIBLE_CELSIUS
    if not low < celsius < high:
        raise SensorError(f"{file} reads {celsius:g} °C", HOT)
    return celsius


def _unreadable(file: Path, error: OSError | ValueError) -> SensorError:
    reason = error.strerror if isinstance(error, OSError) else "no number"
    return SensorError(f"{file}: {reason}", HOT)


class ScriptedSensor:
    """Gives one reading after another, then the last one for ever; an error is raised."""

    def __init__(self, readings: Sequence[float | SensorError]) -> None:
        self._readings = list(readings)
        self.zones: dict[str, float] = {}

    def read(self) -> float | None:
        reading = self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]
        self.zones = {}
        if isinstance(reading, SensorError):
            raise reading
        self.zones = {"scripted": reading}
        return reading
