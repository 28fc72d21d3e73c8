"""What becomes of frames where the recogniser is slower than the camera: they must not grow old."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

import numpy as np

from edgefaced.benchmark.film import Film
from edgefaced.benchmark.line_rig import PATIENCE_SECONDS, Bench, line_on
from edgefaced.benchmark.tallied import Tally
from edgefaced.errors import EdgefacedError
from edgefaced.pipeline.faces import FaceBatch
from edgefaced.pipeline.freshness import Freshness
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.pipeline.judge import Knowledge
from edgefaced.protocols import Embedder
from edgefaced.types import AlignedFace, ColourOrder, Embedding

THIRDS = 3


@dataclass(frozen=True, slots=True)
class SlowFigures:
    """Ages of the frames when the recogniser began with a face of theirs, in milliseconds.

    `limits_ms` are the ages that they might have had at most, two looks of the detector, in the
    same order. `displaced` batches were never judged, for newer ones had come, `stale` ones not to
    their end, for they had grown too old.
    """

    delay_ms: float
    ages_ms: tuple[float, ...]
    lags: tuple[int, ...]
    """Frames that had come since the judged one."""
    limits_ms: tuple[float, ...]
    displaced: int
    stale: int

    @property
    def too_old(self) -> int:
        """How many were older than two looks."""
        return sum(age > limit for age, limit in zip(self.ages_ms, self.limits_ms, strict=True))

    def p95_of_thirds_ms(self) -> tuple[float, float, float]:
        """Of the first, the second and the last third of the film: it must not grow."""
        first, second, last = (
            float(np.percentile(part, 95)) for part in np.array_split(self.ages_ms, THIRDS)
        )
        return first, second, last


class SlowEmbedder:
    """An embedder that takes longer, and notes how old the frame is that it embeds a face of."""

    def __init__(
        self,
        embedder: Embedder,
        seconds: float,
        shown: LatestSlot[FaceBatch],
        tally: Tally,
        freshness: Freshness,
    ) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._shown = shown
        self._tally = tally
        self._freshness = freshness
        self._batch: FaceBatch | None = None
        self._never = threading.Event()
        self.ages_ms: list[float] = []
        self.limits_ms: list[float] = []
        self.lags: list[int] = []

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def colour_order(self) -> ColourOrder:
        return self._embedder.colour_order

    def embed(self, face: AlignedFace) -> Embedding:
        # The stage shows a batch just before it embeds its faces.
        self._batch = batch = self._shown.take(0) or self._batch
        limit_ns = self._freshness.limit_ns
        if batch is not None and limit_ns is not None:
            age_ns = self._freshness.age_ns(batch.captured_ns, time.monotonic_ns())
            self.ages_ms.append(age_ns / 1e6)
            self.limits_ms.append(limit_ns / 1e6)
            self.lags.append(self._tally.newest - batch.sequence)
        self._never.wait(self._seconds)
        return self._embedder.embed(face)


def run_slowly(bench: Bench, film: Film, delay_ms: float) -> SlowFigures:
    """The film in its own time, every face embedded again and again, each `delay_ms` longer.

    Raises what ended a stage, and EdgefacedError where nobody was ever judged.
    """
    policy = bench.settings.policy.model_copy(
        update={"recheck_seconds": 0.001, "retry_seconds": 0.001}
    )
    bench = replace(bench, settings=bench.settings.model_copy(update={"policy": policy}))
    tally, slowed = Tally(), list[SlowEmbedder]()

    def around(knowledge: Knowledge) -> Knowledge:
        slow = SlowEmbedder(knowledge.embedder, delay_ms / 1000, shown, tally, line.freshness)
        slowed.append(slow)
        return replace(knowledge, embedder=slow)

    line, _ = line_on(bench, film, {}, tally, pace="real", around=around)
    # Whoever looks through the tap sees every face of every frame.
    with line.tap.watching() as shown:
        line.start()
        while line.crew.working() and not line.crew.stop.is_set():
            line.crew.wait(1.0)
        hanging = line.stop(PATIENCE_SECONDS)
    if line.crew.failures:
        raise line.crew.failures[0].error
    if hanging:
        raise EdgefacedError(f"{hanging[0].stage} hangs")
    if len(slowed[0].ages_ms) < THIRDS:
        raise EdgefacedError("nobody was judged", "measure where somebody stands")
    return SlowFigures(
        delay_ms=delay_ms,
        ages_ms=tuple(slowed[0].ages_ms),
        lags=tuple(slowed[0].lags),
        limits_ms=tuple(slowed[0].limits_ms),
        displaced=line.figures.batches_displaced,
        stale=line.figures.batches_stale,
    )
