"""What a stage costs is what its own thread used, and OpenCV's share of it is told apart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np

from edgefaced.benchmark.stage_time import StageClocks, StageTime, stage_costs


def in_a_stage(clocks: StageClocks, work: Callable[[], None]) -> StageTime:
    def run() -> None:
        clocks.start("stage")
        work()
        clocks.stop("stage")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return clocks.times["stage"]


def busy(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))


def blurring() -> None:
    picture = np.zeros((400, 400, 3), np.uint8)
    for _ in range(20):
        cv2.GaussianBlur(picture, (15, 15), 3.0)


def test_the_calling_threads_own_time_is_taken() -> None:
    taken = in_a_stage(StageClocks(), lambda: busy(0.05))
    assert taken.cpu >= 0.05
    assert taken.wall >= taken.cpu * 0.9
    assert taken.outside is None


def test_opencvs_time_lies_outside_the_lock_and_pythons_own_inside() -> None:
    drawn = in_a_stage(StageClocks(hooked=True), blurring)
    assert drawn.outside is not None
    assert 0.5 * drawn.cpu < drawn.outside <= drawn.cpu
    counted = in_a_stage(StageClocks(hooked=True), lambda: busy(0.02))
    assert counted.outside == 0.0


def test_whoever_waits_sleeps_and_uses_nothing() -> None:
    never = threading.Event()

    def wait() -> None:
        for _ in range(5):
            never.wait(0.01)

    taken = in_a_stage(StageClocks(), wait)
    assert taken.sleeps >= 5
    assert taken.waiting > 0
    assert taken.cpu < taken.wall


def test_a_stage_that_never_started_has_no_time() -> None:
    clocks = StageClocks()
    clocks.stop("stage")
    assert clocks.times == {}


def test_costs_are_a_frames_and_the_lock_is_what_lies_not_outside() -> None:
    taken = StageTime(wall=10.0, cpu=3.0, ready=1.0, sleeps=50, outside=None)
    slowed = replace(taken, cpu=9.0, outside=2.0)
    (cost,) = stage_costs({"detect": taken, "only here": taken}, {"detect": slowed}, 100)
    assert (cost.stage, cost.wall_ms, cost.cpu_ms, cost.locked_at_most_ms) == (
        "detect",
        100,
        30,
        10,
    )
    assert (cost.ready_ms, cost.waiting_ms, cost.sleeps_per_second) == (10, 60, 5)
    (unknown,) = stage_costs({"a": replace(taken, ready=None)}, {"a": slowed}, 100)
    assert (unknown.ready_ms, unknown.waiting_ms) == (None, 70)
