"""Rates of a running pipeline: frames a second now, and what its work costs the processor."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

WINDOW_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What has been counted up to a moment; times in seconds."""

    now: float
    cpu: float
    """Processor time of the whole process."""
    captured: int
    looked_at: int


@dataclass(frozen=True, slots=True)
class Rates:
    """Over the last ten seconds; all None before there are two readings.

    `cpu_share` 1.0 is one core at full work.
    """

    captured_per_second: float | None = None
    looked_at_per_second: float | None = None
    cpu_share: float | None = None


class Meter:
    """Takes a reading now and then; one thread writes, others read `rates` and the two totals."""

    def __init__(self) -> None:
        self._readings: deque[Reading] = deque()
        self.rates = Rates()
        self.cpu_seconds = {"idle": 0.0, "active": 0.0}
        """Processor time by what there was to do: "active" with a face in view, else "idle"."""
        self.seconds = {"idle": 0.0, "active": 0.0}
        """Time by the same; the quotient is the share of a core."""

    def tick(self, reading: Reading, *, active: bool) -> None:
        """Takes a reading; `active` tells whether a face has been in view since the last one."""
        readings = self._readings
        if readings and reading.captured < readings[-1].captured:
            readings.clear()  # a new line has begun to count
        if readings:
            kind = "active" if active else "idle"
            self.cpu_seconds[kind] += reading.cpu - readings[-1].cpu
            self.seconds[kind] += reading.now - readings[-1].now
        readings.append(reading)
        while len(readings) > 2 and readings[1].now <= reading.now - WINDOW_SECONDS:
            readings.popleft()
        first, span = readings[0], reading.now - readings[0].now
        if span > 0:
            self.rates = Rates(
                (reading.captured - first.captured) / span,
                (reading.looked_at - first.looked_at) / span,
                (reading.cpu - first.cpu) / span,
            )
