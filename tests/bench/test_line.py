"""The daemon's line on films: what it saves, and that a slow recogniser never makes frames old.

Ratios and counts of frames are asserted, never a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from stand_in_pack import PACK, import_stand_in

from edgefaced.benchmark.film import RATE, film_of_files, film_of_frames, staged_films, standing
from edgefaced.benchmark.line import measure_line
from edgefaced.benchmark.line_rig import Bench, line_on, open_bench
from edgefaced.benchmark.tallied import Tally
from edgefaced.config.places import places_of_this_process
from edgefaced.config.settings import Settings
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.pipeline.faces import FaceBatch
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.pipeline.judge import Knowledge
from edgefaced.protocols import Embedder
from edgefaced.types import U8, AlignedFace, ColourOrder, Embedding

pytestmark = pytest.mark.bench


@pytest.fixture
def one_face(shared_data: Path) -> U8:
    return read_picture(shared_data / "detect" / "rknn_retinaface_test.jpg")


@pytest.fixture
def rig(shared_data: Path, tmp_path: Path) -> Iterator[Bench]:
    places = replace(places_of_this_process(), models_dir=import_stand_in(shared_data, tmp_path))
    with open_bench(Settings(), places, PACK, threads=1) as bench:
        yield bench


def test_the_line_costs_a_third_at_most_and_decides_as_soon(rig: Bench, one_face: U8) -> None:
    film, live = staged_films([one_face], seconds=10, visits=1)
    figures = measure_line(rig, film, live, rounds=2, beside_insightface=False)
    (each_frame,) = figures.rivals
    assert figures.network_share <= 0.2
    assert min(each_frame.cpu_ratios) >= 3
    assert each_frame.delays is not None, "other decisions"
    assert len(each_frame.delays) == 1
    assert max(each_frame.delays) <= 2


@pytest.mark.parametrize("video", ["intel_head-pose-male.gif", "intel_head-pose-female.gif"])
def test_on_videos_the_decisions_are_the_same_and_as_early(
    rig: Bench, shared_data: Path, video: str
) -> None:
    film = film_of_files([shared_data / "video" / video])
    figures = measure_line(rig, film, film, rounds=1, beside_insightface=False)
    (each_frame,) = figures.rivals
    assert each_frame.delays, "other decisions, or none"
    assert max(each_frame.delays) <= 2


class SlowEmbedder:
    """An embedder that takes longer, and notes how many frames came since the one it embeds."""

    def __init__(self, embedder: Embedder, seconds: float, lags: Lags) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._lags = lags
        self._never = threading.Event()

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def colour_order(self) -> ColourOrder:
        return self._embedder.colour_order

    def embed(self, face: AlignedFace) -> Embedding:
        self._lags.note()
        self._never.wait(self._seconds)
        return self._embedder.embed(face)


@dataclass(slots=True)
class Lags:
    """How far the embedded frame lies behind the newest one, in frames."""

    tally: Tally
    shown: LatestSlot[FaceBatch]
    frames: list[int]

    def note(self) -> None:
        batch = self.shown.take(0)  # the stage shows a batch just before it embeds its faces
        assert batch is not None
        self.frames.append(self.tally.newest - batch.sequence)


@pytest.mark.parametrize("delay_ms", [45, 120, 500])
def test_a_slow_recogniser_never_makes_frames_old(rig: Bench, one_face: U8, delay_ms: int) -> None:
    policy = rig.settings.policy.model_copy(
        update={"recheck_seconds": 0.001, "retry_seconds": 0.001}
    )
    bench = replace(rig, settings=rig.settings.model_copy(update={"policy": policy}))
    bench.enrol("Somebody", frame_of(one_face))
    film = film_of_frames("standing", [(standing([one_face]), 12 * RATE)])
    tally, slot, lags = Tally(), LatestSlot[FaceBatch](), list[int]()
    noted = Lags(tally, slot, lags)

    def slowed(knowledge: Knowledge) -> Knowledge:
        return replace(knowledge, embedder=SlowEmbedder(knowledge.embedder, delay_ms / 1000, noted))

    line, _ = line_on(bench, film, {}, tally, pace="real", around=slowed)
    with line.tap.watching() as shown:
        noted.shown = shown
        line.start()
        assert line.crew.wait(120)
        assert line.stop(30) == []
    assert line.crew.failures == []
    assert tally.lent == tally.returned
    assert line.figures.batches_displaced > len(lags) / 2, "the recogniser was not slow"
    third = len(lags) // 3
    first, last = (float(np.percentile(part, 95)) for part in (lags[:third], lags[-third:]))
    assert last <= first + 1, "frames grow older"
    # A look takes as long as the detector does, and a frame's time at least.
    detect = line.figures.stages["detect"].snapshot().p95
    assert detect is not None
    assert np.percentile(lags, 95) <= 2 * max(detect * RATE, 1), f"older than two looks: {lags}"
