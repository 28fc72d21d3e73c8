"""The whole line with behaving fakes: decisions, order, faults, and an end that never hangs."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from coloured import (
    ANN,
    BOB,
    SHAPE,
    Cast,
    Collector,
    ColourDetector,
    ColourEmbedder,
    ColourIndex,
    scene,
)
from painted_faces import EVERYTHING
from scripted_camera import ScriptedCamera, Step

from edgefaced.core.gates import QualityLimits
from edgefaced.events import CameraChanged, DecisionMade, FaceLeft, Trouble
from edgefaced.ledger.store import Ledger
from edgefaced.pipeline.line import Line
from edgefaced.pipeline.recorder import Recording
from edgefaced.protocols import Delivery, Detector, SinkPlan
from edgefaced.types import FaceDetection, Frame, Outcome

SIDEWAYS = SHAPE + np.array([[0.0, 0], [0, 0], [0.18, 0], [0, 0], [0, 0]], np.float32)


class Stand:
    """A line on fakes."""

    def __init__(
        self,
        steps: Iterable[Step],
        *,
        lossless: bool = True,
        recording: Recording | None = None,
        limits: QualityLimits = EVERYTHING,
        detector: Detector | None = None,
        rate: float = 30,
    ) -> None:
        """With `recording` the sink is a lasting one."""
        delivery = Delivery.MOMENTARY if recording is None else Delivery.LASTING
        self.ledger: list[str] = []
        self.embedder, self.index, self.sink = ColourEmbedder(), ColourIndex(), Collector()
        cast = Cast(
            lambda: ScriptedCamera(iter(steps), self.ledger, rate=rate),
            embedder=self.embedder,
            index=self.index,
            sinks={"collector": SinkPlan(lambda: self.sink, delivery)},
            detector=detector or ColourDetector(),
            replay=True,
            lossless=lossless,
        )
        self.line = Line(replace(cast.parts(), limits=limits, recording=recording))

    def run_to_the_end(self) -> None:
        self.line.start()
        self.line.crew.wait(60)
        assert self.line.stop(60) == []
        self.check()

    def check(self) -> None:
        assert self.ledger.count("lent") == self.ledger.count("back")
        assert self.sink.closed

    def decisions(self) -> list[DecisionMade]:
        happenings = [event.happening for event in self.sink.events]
        return [h for h in happenings if isinstance(h, DecisionMade)]


def test_two_people_get_one_decision_each_and_little_is_embedded() -> None:
    walk: list[Step] = [scene((ANN, 20 + i), (BOB, 120 - i), sequence=i) for i in range(28)]
    stand = Stand(walk)
    stand.run_to_the_end()
    seen = {d.track_id: d.decision for d in stand.decisions()}
    assert sorted(d.outcome for d in seen.values()) == [Outcome.KNOWN, Outcome.UNKNOWN]
    assert len(stand.decisions()) == 2
    assert stand.embedder.embedded == 3 + 3, "after three Ann is known, and Bob never will be"
    figures = stand.line.figures
    assert figures.frames["captured"] == 28
    # Once both are decided every third frame will do.
    assert figures.frames["looked_at"] + figures.frames["calm"] == 28
    assert 0 < figures.frames["calm"] <= 16
    assert figures.decisions == {"known": 1, "unknown": 1}
    assert figures.bytes_copied > 0
    assert isinstance(stand.sink.events[0].happening, CameraChanged)


def test_bytes_are_those_of_the_looks_that_are_counted() -> None:
    """Also in the middle of a look, when most of a slow board's questions come."""
    asked: list[tuple[int, int]] = []

    class Asking(ColourDetector):
        def detect(self, frame: Frame) -> list[FaceDetection]:
            figures = stand.line.figures
            asked.append((figures.frames["looked_at"], figures.bytes_copied))
            return super().detect(frame)

    stand = Stand([scene(sequence=i) for i in range(30)], detector=Asking())
    stand.run_to_the_end()
    assert len(asked) > 1
    assert asked == [(looks, looks * scene().size) for looks in range(len(asked))]


def test_a_face_too_small_to_be_judged_is_followed_calmly_until_it_is_large_enough() -> None:
    near = replace(EVERYTHING, minimum_interocular_px=12)  # a square of 40 has 16 between the eyes
    far = replace(EVERYTHING, minimum_interocular_px=20)
    steps: list[Step] = [scene((BOB, 50), sequence=i) for i in range(30)]
    looked_at = []
    for limits in (near, far):
        stand = Stand(steps, limits=limits)
        stand.run_to_the_end()
        looked_at.append(stand.line.figures.frames["looked_at"])
        assert stand.embedder.embedded == (3 if limits is near else 0)
    assert looked_at == [3 + 9] * 2, "every third, once it is known how it moves"


def test_whoever_is_decided_is_shown_to_the_tap_all_the_same() -> None:
    stand = Stand([scene((ANN, 50), sequence=i) for i in range(30)])
    with stand.line.tap.watching():
        stand.run_to_the_end()
    assert stand.embedder.embedded == 3
    assert stand.line.figures.frames["looked_at"] == 30


def test_whoever_comes_to_somebody_decided_is_found_two_frames_late_at_most() -> None:
    alone: list[Step] = [scene((ANN, 20), sequence=i) for i in range(30)]
    both: list[Step] = [scene((ANN, 20), (BOB, 150), sequence=100 + i) for i in range(12)]
    stand = Stand(alone + both)
    stand.run_to_the_end()
    unknown = next(d for d in stand.decisions() if d.decision.outcome is Outcome.UNKNOWN)
    first = min(d.captured_ns for d in stand.decisions())
    # Ann is decided with the third frame; Bob comes with the 31st and takes three.
    frames_late = round((unknown.captured_ns - first) * 30 / 1e9) - 30
    assert 0 <= frames_late <= 2


def test_whoever_was_too_poor_to_judge_is_followed_calmly_and_known_when_that_is_over() -> None:
    """Ann turns to the camera after four seconds, long after it was said that nothing is seen."""

    class Turning(ColourDetector):
        def detect(self, frame: Frame) -> list[FaceDetection]:
            points = SHAPE if frame.sequence >= 120 else SIDEWAYS
            return [
                replace(d, landmarks=points * 40 + np.array([d.box.left, d.box.top], np.float32))
                for d in super().detect(frame)
            ]

    stand = Stand(
        [scene((ANN, 50), sequence=i) for i in range(128)],
        limits=replace(EVERYTHING, maximum_yaw=0.5),
        detector=Turning(),
    )
    stand.run_to_the_end()
    poor, known = stand.decisions()
    assert (poor.decision.outcome, poor.decision.reason) == (Outcome.TOO_POOR, "pose")
    assert known.decision.outcome is Outcome.KNOWN
    # The first word comes after sixty frames, the second at the third good one, two late at most.
    assert 60 <= round((known.captured_ns - poor.captured_ns) * 30 / 1e9) <= 63
    assert stand.embedder.embedded == 3
    calm = stand.line.figures.frames["calm"]
    assert 36 <= calm <= 44, "of the sixty frames after the first word two thirds"


@pytest.mark.parametrize("rate", [0.2, 0.4, 1, 5])
def test_a_slow_camera_decides_as_long_as_its_frames_are_three_seconds_apart_at_most(
    rate: float,
) -> None:
    """Who stands there after five seconds may be somebody else."""
    stand = Stand([scene((ANN, 50 + 3 * i), sequence=i) for i in range(6)], rate=rate)
    stand.run_to_the_end()
    decided = stand.decisions()
    assert [d.decision.outcome for d in decided] == ([] if rate < 1 / 3 else [Outcome.KNOWN])
    assert stand.embedder.embedded == (6 if rate < 1 / 3 else 3)


def test_the_last_frame_of_a_film_is_judged_however_slow_the_recogniser_is() -> None:
    class UntilAllIsSeen(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if stand.embedder.embedded == 2:  # the third face then waits already
                (detecting,) = (t for t in threading.enumerate() if t.name == "detect")
                detecting.join(timeout)
            return True

    stand = Stand([scene((ANN, 50), sequence=i) for i in range(3)])
    stand.embedder.hold = UntilAllIsSeen()
    stand.run_to_the_end()
    (decided,) = stand.decisions()
    assert decided.decision.outcome is Outcome.KNOWN


def test_a_face_that_leaves_is_an_event_with_its_decision() -> None:
    there: list[Step] = [scene((ANN, 50), sequence=i) for i in range(10)]
    gone: list[Step] = [scene(sequence=100 + i) for i in range(30)]
    stand = Stand(there + gone)
    stand.run_to_the_end()
    left = [e.happening for e in stand.sink.events if isinstance(e.happening, FaceLeft)]
    assert len(left) == 1
    assert left[0].decision is not None
    assert left[0].decision.person_id == "ann"


def test_an_odd_embedding_never_matches_and_is_said() -> None:
    stand = Stand([scene((ANN, 50), sequence=i) for i in range(90)])
    stand.embedder.odd = True
    stand.run_to_the_end()
    (decided,) = stand.decisions()
    assert decided.decision.outcome is Outcome.TOO_POOR
    assert decided.decision.reason == "odd embedding"
    (trouble,) = [e.happening for e in stand.sink.events if isinstance(e.happening, Trouble)]
    assert (trouble.where, trouble.detail) == ("recognise", "NaN on purpose")


def test_a_busy_gallery_is_said_once_and_tried_again() -> None:
    stand = Stand([scene((ANN, 50), (BOB, 120), sequence=i) for i in range(20)])
    stand.index.busy = 2
    stand.run_to_the_end()
    troubles = [e.happening for e in stand.sink.events if isinstance(e.happening, Trouble)]
    assert [t.where for t in troubles] == ["gallery", "gallery"]
    assert ["somebody writes" in t.detail for t in troubles] == [True, False], "and when it is over"
    assert [d.decision.outcome for d in stand.decisions()] == [Outcome.KNOWN, Outcome.UNKNOWN]


def test_a_sink_that_refuses_gets_its_events_later_in_order(tmp_path: Path) -> None:
    recording = Recording(lambda: Ledger.open(tmp_path / "events.db", create=True))
    stand = Stand([scene((ANN, 50), sequence=i) for i in range(10)], recording=recording)
    stand.sink.refusals = 2
    stand.embedder.hold = stand.sink.taken  # the line ends only after the refusals
    stand.run_to_the_end()
    told = [type(e.happening) for e in stand.sink.events]
    assert [kind for kind in told if kind is not Trouble] == [CameraChanged, DecisionMade]
    assert told.count(Trouble) == 1, "a row of refusals is said once"
    assert stand.line.deliveries.counts()["collector"].failures == 2


def test_a_slow_recogniser_never_makes_frames_old() -> None:
    """With the recogniser standing still, capture and detection go on and the newest wins."""
    steps: list[Step] = [scene((ANN, 50), sequence=i) for i in range(200)]
    stand = Stand(steps, lossless=False)
    hold = threading.Event()
    stand.embedder.hold = hold
    steps.append(hold.set)
    stand.run_to_the_end()
    assert stand.line.figures.frames["captured"] == 200
    assert stand.line.figures.batches_displaced > 0 or stand.line.figures.frames["displaced"] > 0


def test_a_stage_that_raises_stops_the_line_and_is_kept() -> None:
    steps: list[Step] = [scene((ANN, 50)), ZeroDivisionError("driver bug")]
    stand = Stand(steps)
    stand.line.start()
    assert stand.line.crew.stop.wait(60)
    assert stand.line.stop(60) == []
    stand.check()
    assert [(f.stage, type(f.error)) for f in stand.line.crew.failures] == [
        ("capture", ZeroDivisionError)
    ]


def endless() -> Iterator[Step]:
    number = 0
    while True:
        number += 1
        yield scene((ANN, number % 150), sequence=number % 50)


@pytest.mark.slow
def test_it_stops_at_any_moment_with_every_lease_returned() -> None:
    chance = random.Random(11)
    for _ in range(500):
        stand = Stand(endless(), lossless=False)
        stand.line.start()
        time.sleep(chance.uniform(0, 0.02))
        assert stand.line.stop(30) == []
        stand.check()
