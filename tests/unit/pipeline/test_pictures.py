"""Pictures on their way through the line: only on request, counted, of the face it is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from coloured import ANN, BOB, Cast, Collector, scene
from scripted_camera import ScriptedCamera, Step

from edgefaced.events import DecisionMade
from edgefaced.pipeline.faces import FaceBatch
from edgefaced.pipeline.line import Line
from edgefaced.pipeline.tap import FaceTap
from edgefaced.pipeline.tray import PictureWish, Tray
from edgefaced.protocols import Delivery, SinkPlan
from edgefaced.types import U8, Outcome


class Shown(FaceTap):
    """Remembers every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[FaceBatch] = []

    def show(self, batch: FaceBatch) -> None:
        self.batches.append(batch)


class Run:
    """A line that has seen Ann and Bob walk, and what it had of pictures."""

    def __init__(self, tray: Tray, steps: Iterable[Step]) -> None:
        leases: list[str] = []
        self.sink, self.tap = Collector(), Shown()
        cast = Cast(
            lambda: ScriptedCamera(iter(steps), leases),
            sinks={"collector": SinkPlan(lambda: self.sink, Delivery.MOMENTARY)},
            replay=True,
            lossless=True,
        )
        self.line = Line(replace(cast.parts(self.tap), tray=tray))
        self.line.start()
        assert self.line.crew.wait(60)
        assert self.line.stop(60) == []
        assert leases.count("lent") == leases.count("back")

    @property
    def pictures(self) -> list[U8]:
        faces = [face for batch in self.tap.batches for face in batch.faces]
        assert faces
        return [face.picture for face in faces if face.picture is not None]

    def decision(self, outcome: Outcome) -> DecisionMade:
        happenings = [event.happening for event in self.sink.events]
        made = (h for h in happenings if isinstance(h, DecisionMade))
        return next(h for h in made if h.decision.outcome is outcome)


def walk() -> list[Step]:
    return [scene((ANN, 20 + i), (BOB, 120 - i), sequence=i) for i in range(20)]


def test_without_a_wish_no_picture_is_ever_made() -> None:
    plain = Run(Tray(None), walk())
    assert plain.pictures == []
    assert plain.line.tray.find(plain.decision(Outcome.KNOWN).track_id) is None
    wished = Run(Tray(PictureWish(whole=False, longest_px=64)), walk())
    written = sum(picture.nbytes for picture in wished.pictures)
    assert written > 0


def test_what_a_picture_writes_is_counted() -> None:
    # One frame: what is looked at in a second one hangs on how far the other stage has come.
    plain, wished = (
        Run(Tray(wish), walk()[:1]) for wish in (None, PictureWish(whole=False, longest_px=64))
    )
    written = sum(picture.nbytes for picture in wished.pictures)
    assert written > 0
    assert wished.line.figures.bytes_copied == plain.line.figures.bytes_copied + written


def test_each_decision_has_the_picture_of_its_own_face() -> None:
    run = Run(Tray(PictureWish(whole=False, longest_px=64)), walk())
    for outcome, colour in ((Outcome.KNOWN, ANN), (Outcome.UNKNOWN, BOB)):
        made = run.decision(outcome)
        taken = run.line.tray.find(made.track_id, made.captured_ns)
        assert taken is not None
        assert max(taken.pixels.shape) <= 64
        height, width = taken.pixels.shape[:2]
        assert tuple(taken.pixels[height // 2, width // 2]) == colour


def test_a_whole_frame_is_made_once_for_all_in_it() -> None:
    run = Run(Tray(PictureWish(whole=True, longest_px=100)), walk())
    both = [batch.faces for batch in run.tap.batches if len(batch.faces) == 2]
    assert both
    for first, second in both:
        assert first.picture is second.picture
    taken = run.line.tray.find(run.decision(Outcome.KNOWN).track_id)
    assert taken is not None
    assert taken.pixels.shape == (60, 100, 3)
    for colour in (ANN, BOB):
        assert (np.abs(taken.pixels.astype(int) - colour).max(axis=-1) < 10).any()
