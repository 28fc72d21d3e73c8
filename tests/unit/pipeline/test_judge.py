"""A recogniser that is slower than the camera, on a clock that only the recogniser moves."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from coloured import Cast, ColourEmbedder
from sitters import batch, seen

from edgefaced.core.policy import DecisionPolicy, PolicyLimits
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.faces import FaceBatch
from edgefaced.pipeline.figures import Figures
from edgefaced.pipeline.freshness import OLDEST_LOOKS, Freshness
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.pipeline.interest import Interest
from edgefaced.pipeline.judge import Judge
from edgefaced.pipeline.tap import FaceTap
from edgefaced.pipeline.tray import Tray
from edgefaced.types import AlignedFace, Embedding

MS = 1_000_000
RED, GREEN = (200, 40, 40), (40, 200, 40)


class Hall(ColourEmbedder):
    """Two people before a camera whose frames come on time, however long an embedding takes."""

    def __init__(self, *, takes_ms: int, frame_ms: int, look_ms: int) -> None:
        super().__init__()
        self._takes_ms, self._frame_ms, self._look_ms = takes_ms, frame_ms, look_ms
        self.now_ms = 0
        self.freshness = Freshness()
        self.batches: LatestSlot[FaceBatch] = LatestSlot()
        self.tap = FaceTap()
        self._judged = batch()
        self.ages_ms: list[int] = []
        self.sides: list[int] = []
        one, other = seen(RED), seen(GREEN)
        self._faces = one, replace(other, track=replace(other.track, id=2))

    def embed(self, face: AlignedFace) -> Embedding:
        self.ages_ms.append(self.now_ms - self.taken_ms)
        self.sides.append(1 if face is self._faces[0].aligned else 2)
        for _ in range(self._takes_ms):
            self.now_ms += 1
            if self.now_ms % self._frame_ms == 0:
                self.show()
        if self.embedded >= 40:
            self.batches.close()
        return super().embed(face)

    @property
    def taken_ms(self) -> int:
        """When the frame was captured whose faces are judged."""
        shown = self._shown.take(0)
        self._judged = self._judged if shown is None else shown
        return self._judged.captured_ns // MS

    def show(self) -> None:
        """A frame comes and is looked at; its faces replace those that wait."""
        captured_ns = self.now_ms * MS
        self.freshness.arrived(captured_ns, captured_ns)
        self.freshness.taken(captured_ns)
        self.freshness.looked(self._look_ms * MS)
        self.batches.put(replace(batch(*self._faces), captured_ns=captured_ns))

    def judge(self) -> Figures:
        """Until forty faces are embedded; every face is wanted all the time."""
        figures = Figures()
        stage = Judge(
            self.batches,
            lambda happening: None,
            Cast(embedder=self).knowledge,
            tap=self.tap,
            interest=Interest(),
            policy=DecisionPolicy(PolicyLimits(agreeing_frames=50, window_frames=100)),
            freshness=self.freshness,
            figures=figures,
            stop=threading.Event(),
            tray=Tray(None),
            now_ns=lambda: self.now_ms * MS,
        )
        for _ in range(3):
            self.now_ms += self._frame_ms
            self.show()
        with self.tap.watching() as self._shown:
            stage.run(Heartbeat())
        return figures


@pytest.mark.parametrize(("frame_ms", "look_ms"), [(33, 10), (33, 90), (83, 10)])
@pytest.mark.parametrize("takes_frames", [0.7, 1.5, 4, 30])
def test_no_face_is_begun_with_that_is_older_than_two_looks(
    takes_frames: float, frame_ms: int, look_ms: int
) -> None:
    takes_ms = round(takes_frames * frame_ms)
    hall = Hall(takes_ms=takes_ms, frame_ms=frame_ms, look_ms=look_ms)
    figures = hall.judge()
    limit_ms = OLDEST_LOOKS * max(look_ms, frame_ms)
    assert max(hall.ages_ms) <= limit_ms
    assert max(hall.ages_ms[20:]) <= max(hall.ages_ms[:20]) + frame_ms, "they grow older"
    if takes_ms > limit_ms:
        assert figures.batches_stale == figures.embeddings, "the second of every frame"
    elif takes_ms + frame_ms <= limit_ms:
        assert figures.batches_stale == 0
    assert abs(hall.sides.count(1) - hall.sides.count(2)) <= 1, "both get their turn"
