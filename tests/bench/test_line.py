"""The daemon's line on films: what it saves, and that a slow recogniser never makes frames old.

Ratios and counts of frames are asserted, never a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stand_in_pack import PACK, import_stand_in

from edgefaced.benchmark.film import RATE, film_of_files, film_of_frames, staged_films, standing
from edgefaced.benchmark.line import measure_line
from edgefaced.benchmark.line_rig import Bench, open_bench
from edgefaced.benchmark.slow import run_slowly
from edgefaced.config.places import places_of_this_process
from edgefaced.config.settings import Settings
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.types import U8

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


@pytest.mark.parametrize(
    "video",
    [
        "intel_head-pose-male.gif",
        "intel_head-pose-female.gif",
        "intel_face-demographics-walking.gif",
    ],
)
def test_on_videos_the_decisions_are_the_same_and_as_early(
    rig: Bench, shared_data: Path, video: str
) -> None:
    film = film_of_files([shared_data / "video" / video])
    figures = measure_line(rig, film, film, rounds=1, beside_insightface=False)
    (each_frame,) = figures.rivals
    assert each_frame.delays, "other decisions, or none"
    assert max(each_frame.delays) <= 2


@pytest.mark.parametrize("delay_ms", [45, 120, 500])
def test_a_slow_recogniser_never_makes_frames_old(rig: Bench, one_face: U8, delay_ms: int) -> None:
    rig.enrol("Somebody", frame_of(one_face))
    film = film_of_frames("standing", [(standing([one_face]), 12 * RATE)])
    slow = run_slowly(rig, film, delay_ms)
    assert slow.displaced + slow.stale > len(slow.lags) / 2, "the recogniser was not slow"
    third = len(slow.lags) // 3
    first, last = (float(np.percentile(p, 95)) for p in (slow.lags[:third], slow.lags[-third:]))
    assert last <= first + 1, "frames grow older"
    # A busy machine may keep the stage waiting between its question and its embedding.
    assert slow.too_old <= len(slow.lags) / 20, f"older than two looks: {slow.ages_ms}"
