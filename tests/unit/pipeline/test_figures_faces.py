"""Timings, histograms, and detections carried from the small to the full stream."""

from __future__ import annotations

import numpy as np
import pytest

from edgefaced.pipeline.faces import enlarged
from edgefaced.pipeline.figures import BUCKETS_SECONDS, Stopwatch, percentiles
from edgefaced.types import Box, FaceDetection, Frame, PixelFormat


def test_a_stopwatch_counts_into_buckets_and_keeps_percentiles() -> None:
    watch = Stopwatch()
    assert watch.snapshot().median is None
    for milliseconds in range(1, 1001):
        watch.record(milliseconds / 1000)
    timing = watch.snapshot()
    assert timing.count == 1000
    assert timing.total == pytest.approx(500.5)
    counted = dict(zip((*BUCKETS_SECONDS, "inf"), timing.cumulative, strict=True))
    assert (counted[0.001], counted[0.01], counted[0.25], counted["inf"]) == (1, 10, 250, 1000)
    assert timing.median == pytest.approx(0.7445)
    assert timing.p95 == pytest.approx(0.974, abs=0.001)


def test_percentiles_are_numpys() -> None:
    random = np.random.default_rng(3)
    for count in (1, 2, 7, 512):
        values = random.exponential(size=count)
        expected = np.percentile(values, [0, 50, 95, 100])
        assert percentiles(values, (0, 50, 95, 100)) == pytest.approx(expected)


def frame(width: int, height: int) -> Frame:
    return Frame(0, 0, np.zeros((height, width, 3), np.uint8), PixelFormat.BGR)


def test_a_detection_of_the_small_stream_lies_on_the_same_face_in_the_full_one() -> None:
    detection = FaceDetection(Box(10, 20, 30, 50), np.full((5, 2), 12, np.float32), 0.9)
    assert enlarged(detection, frame(320, 180), frame(320, 180)) is detection
    large = enlarged(detection, frame(320, 180), frame(1280, 720))
    assert large.box == Box(41.5, 81.5, 121.5, 201.5)
    assert large.landmarks[0].tolist() == [49.5, 49.5]
    assert large.score == 0.9
