"""A line with a motion sensor, whose motion is looked at with the next frame; and its frame tap."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scripted_camera import ScriptedCamera, Step, picture

from edgefaced.config.settings import Settings
from edgefaced.errors import GpioLost
from edgefaced.events import Trouble
from edgefaced.gpio.choose import open_input
from edgefaced.gpio.lines import InputLine
from edgefaced.pipeline.judge import Knowledge
from edgefaced.pipeline.line import Line, Parts
from edgefaced.pipeline.watch import Watcher
from edgefaced.types import ColourOrder, Embedding, FaceDetection, Frame, Match

STILL, AFTER = 90, 6
"""Frames of an empty scene, after which only a look now and then is left; and some more."""


class Onlooker:
    """A detector, embedder and gallery for a scene with nobody in it; notes what it was shown."""

    model_id, colour_order, size = "none", ColourOrder.BGR, 0

    def __init__(self) -> None:
        self.seen: list[int] = []

    def detect(self, frame: Frame) -> list[FaceDetection]:
        self.seen.append(frame.sequence)
        return []

    def bytes_copied(self, frame: Frame) -> int:
        return 0

    def embed(self, face: object) -> Embedding:
        raise AssertionError("nobody is there")

    def refresh(self) -> bool:
        return False

    def search(self, probe: Embedding) -> Match | None:
        return None


class Stand:
    """A line before a scene that does not change; `then` happens before the last frames."""

    def __init__(
        self, open_motion: Callable[[], InputLine] | None, then: Callable[[Line], None]
    ) -> None:
        self.onlooker = Onlooker()
        self.ledger: list[str] = []
        empty = picture(1)
        steps: list[Step] = [empty] * STILL
        steps.append(lambda: then(self.line))
        steps += [empty] * AFTER
        self.line = Line(
            Parts(
                camera_name="door",
                open_camera=lambda: ScriptedCamera(iter(steps), self.ledger),
                open_watcher=self._watcher,
                open_knowledge=self._knowledge,
                sinks={},
                colour_order=ColourOrder.BGR,
                limits=Settings().quality.limits(),
                open_motion=open_motion,
                replay=True,
                lossless=True,
            )
        )
        self.events = self.line.postbox.open_for("test")

    @contextmanager
    def _watcher(self) -> Iterator[Watcher]:
        yield Watcher(self.onlooker, None)

    @contextmanager
    def _knowledge(self) -> Iterator[Knowledge]:
        yield Knowledge(self.onlooker, self.onlooker, lambda size: 0.9)

    def looked_at_in_the_end(self) -> int:
        """Of the last frames."""
        self.line.start()
        assert self.line.crew.wait(60), "the sensor's stage ends with the replay"
        assert self.line.stop(60) == []
        assert self.line.crew.failures == []
        assert self.line.figures.frames["captured"] == STILL + AFTER
        assert self.ledger.count("lent") == self.ledger.count("back") == STILL + AFTER
        return sum(sequence > STILL for sequence in self.onlooker.seen)


def nothing(line: Line) -> None:
    pass


def test_a_frame_is_taken_from_a_line_that_does_not_notice() -> None:
    got: list[Frame | None] = []
    asking: list[threading.Thread] = []

    def ask(line: Line) -> None:
        thread = threading.Thread(target=lambda: got.append(line.frames.take(60)))
        thread.start()
        asking.append(thread)
        while not line.frames.watched:
            threading.Event().wait(0.005)

    stand = Stand(None, ask)
    assert stand.looked_at_in_the_end() <= 1
    asking[0].join(60)
    (frame,) = got
    assert frame is not None
    assert frame.sequence == STILL + 1
    assert np.array_equal(frame.pixels, picture(1))


def test_without_motion_an_empty_scene_is_looked_at_now_and_then() -> None:
    assert Stand(None, nothing).looked_at_in_the_end() <= 1


def test_an_edge_opens_the_gate_for_the_next_frame(tmp_path: Path) -> None:
    pins = tmp_path
    (pins / "pir").write_text("1\n")

    def walk_in(line: Line) -> None:
        (pins / "pir").write_text("0\n")  # active: a sensor that pulls its line down
        deadline = time.monotonic() + 60
        while line.motion is not None and not line.motion.motions:
            assert time.monotonic() < deadline
            threading.Event().wait(0.005)

    def take() -> InputLine:
        return open_input("file", str(pins), "pir", active_low=True)

    stand = Stand(take, walk_in)
    assert stand.looked_at_in_the_end() >= AFTER // 3
    assert min(sequence for sequence in stand.onlooker.seen if sequence > STILL) <= STILL + 2
    assert stand.line.motion is not None
    assert stand.line.motion.motions == 1


def test_a_sensor_that_is_not_there_changes_nothing_and_is_said(tmp_path: Path) -> None:
    said = threading.Event()

    def take() -> InputLine:
        try:
            return open_input("file", str(tmp_path), "pir")
        except GpioLost:
            said.set()
            raise

    def wait(line: Line) -> None:
        assert said.wait(60)

    stand = Stand(take, wait)
    without = Stand(None, nothing)
    assert stand.looked_at_in_the_end() == without.looked_at_in_the_end() <= 1
    assert stand.onlooker.seen == without.onlooker.seen
    announced = iter(lambda: stand.events.take(0) if len(stand.events) else None, None)
    happenings = [one.event.happening for one in announced]
    troubles = [h for h in happenings if isinstance(h, Trouble)]
    assert [t.where for t in troubles] == ["motion sensor"]
    assert "no line 'pir'" in troubles[0].detail
