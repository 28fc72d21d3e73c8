"""What the pipeline counts and times. Each figure has one writer; readers take snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from edgefaced.types import F64

BUCKETS_SECONDS = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 1)
"""Upper edges of the histograms: fine where the promise lies (1 to 100 ms)."""

RECENT = 512


@dataclass(frozen=True, slots=True, eq=False)
class Timing:
    """A snapshot: seconds throughout; `cumulative` counts per bucket edge; None before any."""

    count: int
    total: float
    cumulative: tuple[int, ...]
    median: float | None
    p95: float | None


class Stopwatch:
    """Durations of one stage: a histogram since the start and the last 512 for percentiles."""

    def __init__(self) -> None:
        self._recent: F64 = np.zeros(RECENT)
        self._counts = [0] * (len(BUCKETS_SECONDS) + 1)
        self._count = 0
        self._total = 0.0

    def record(self, seconds: float) -> None:
        self._recent[self._count % RECENT] = seconds
        self._counts[int(np.searchsorted(BUCKETS_SECONDS, seconds))] += 1
        self._count += 1
        self._total += seconds

    def snapshot(self) -> Timing:
        count = self._count
        recent = self._recent[: min(count, RECENT)].copy()
        median, p95 = percentiles(recent, (50, 95)) if count else (None, None)
        return Timing(
            count=count,
            total=self._total,
            cumulative=tuple(np.cumsum(self._counts).tolist()),
            median=median,
            p95=p95,
        )


def percentiles(values: F64, percents: Sequence[float]) -> list[float]:
    """Between the two nearest values, as `numpy.percentile`, which loads 12 ms of other things."""
    places = np.array(percents) / 100 * (len(values) - 1)
    return [float(v) for v in np.interp(places, np.arange(len(values)), np.sort(values))]


STAGES = ("detect", "align", "embed", "match", "capture_to_decision")


@dataclass(slots=True)
class Figures:
    """All of a running pipeline. Counters only grow."""

    frames: Counter[str] = field(default_factory=Counter)
    """captured, looked-at; and frames not looked at, by reason: stride, rest, idle, displaced,
    calm, repeated."""
    lost: Counter[str] = field(default_factory=Counter)
    """Frames that never left the camera: damaged, missed, overtaken."""
    looks: Counter[str] = field(default_factory=Counter)
    """whole, close."""
    decisions: Counter[str] = field(default_factory=Counter)
    """By outcome."""
    faces: int = 0
    """Cut out of frames, to be judged."""
    embeddings: int = 0
    bytes_copied: int = 0
    batches_displaced: int = 0
    """Never judged, for newer faces had come before their turn."""
    batches_stale: int = 0
    """Not judged to the end, for their frame had grown too old meanwhile."""
    camera_up: bool = False
    camera_restarts: int = 0
    tracks: int = 0
    templates: int = 0
    """In the gallery that faces are compared with."""
    stages: dict[str, Stopwatch] = field(
        default_factory=lambda: {stage: Stopwatch() for stage in STAGES}
    )
