"""People of one colour, and a detector, an embedder, an index and a sink for them: a line's fakes.

A face is a coloured square on noise; the gallery knows Ann, and Bob is a stranger.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from painted_faces import EVERYTHING

from edgefaced.core.policy import DecisionPolicy, PolicyLimits
from edgefaced.errors import EmbeddingError, GalleryBusy, StorageError
from edgefaced.events import Event, Happening
from edgefaced.pipeline.judge import Knowledge
from edgefaced.pipeline.line import Parts
from edgefaced.pipeline.tap import FaceTap
from edgefaced.pipeline.watch import Watcher
from edgefaced.protocols import (
    Camera,
    Detector,
    Embedder,
    LiveGalleryIndex,
    SinkPlans,
)
from edgefaced.types import (
    U8,
    AlignedFace,
    Box,
    Candidate,
    ColourOrder,
    Embedding,
    FaceDetection,
    Frame,
    Match,
)

PATIENCE_SECONDS = 60
Kind = TypeVar("Kind")
ANN, BOB = (250, 10, 10), (10, 250, 10)
SHAPE = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.8], [0.65, 0.8]], np.float32)


def scene(*people: tuple[tuple[int, int, int], int], sequence: int = 0) -> U8:
    """Coloured squares on noise; each is a face of the person with that colour."""
    noise = np.random.default_rng(sequence).integers(90, 110, (120, 200, 3), np.uint8)
    for colour, left in people:
        noise[40:80, left : left + 40] = colour
    return noise


class ColourDetector:
    """Finds squares of the colours above."""

    def detect(self, frame: Frame) -> list[FaceDetection]:
        found = []
        for colour in (ANN, BOB):
            rows, columns = np.nonzero((frame.pixels == colour).all(axis=2))
            if rows.size > 400:
                left, top = float(columns.min()), float(rows.min())
                box = Box(left, top, left + 40, top + 40)
                points = SHAPE * 40 + np.array([left, top], np.float32)
                found.append(FaceDetection(box, points, 0.9))
        return found

    def bytes_copied(self, frame: Frame) -> int:
        return frame.pixels.size


class ColourEmbedder:
    """One dimension a colour channel; an embedding is the mean colour's direction."""

    model_id = "colour"
    colour_order = ColourOrder.BGR

    def __init__(self) -> None:
        self.embedded = 0
        self.odd = False
        self.hold: threading.Event | None = None

    def embed(self, face: AlignedFace) -> Embedding:
        self.embedded += 1
        if self.hold is not None:
            self.hold.wait(60)
        if self.odd:
            raise EmbeddingError("NaN on purpose")
        mean = face.pixels[40:70, 40:70].reshape(-1, 3).mean(axis=0)
        return Embedding((mean / np.linalg.norm(mean)).astype(np.float32), self.model_id)


class ColourIndex:
    """Knows Ann; Bob is a stranger."""

    size = 1

    def __init__(self) -> None:
        self.busy = 0

    def refresh(self) -> bool:
        if self.busy:
            self.busy -= 1
            raise GalleryBusy("somebody writes")
        return False

    def search(self, probe: Embedding) -> Match | None:
        return Match(Candidate("ann", float(probe.vector[0])), None)


class Collector:
    """A sink that keeps what it gets, and may refuse at first."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.refusals = 0
        self.taken = threading.Event()
        """Set when it has taken one."""
        self.closed = False

    def emit(self, event: Event) -> None:
        if self.refusals:
            self.refusals -= 1
            raise StorageError("full on purpose")
        self.events.append(event)
        self.taken.set()

    def close(self) -> None:
        self.closed = True


class Watched(Collector):
    """A sink at which others may wait."""

    def __init__(self) -> None:
        super().__init__()
        self._more = threading.Condition()

    def emit(self, event: Event) -> None:
        with self._more:
            super().emit(event)
            self._more.notify_all()

    def until(self, wanted: Callable[[Happening], bool], count: int = 1) -> Happening:
        """The happening of a kind that is the so manieth, which may still be to come."""

        def there() -> list[Happening]:
            return [e.happening for e in self.events if wanted(e.happening)]

        with self._more:
            assert self._more.wait_for(lambda: len(there()) >= count, PATIENCE_SECONDS), self.events
            return there()[count - 1]

    def counted(self, wanted: Callable[[Happening], bool]) -> int:
        return sum(wanted(event.happening) for event in list(self.events))

    def happened(self, kind: type[Kind]) -> list[Kind]:
        return [e.happening for e in self.events if isinstance(e.happening, kind)]


def never() -> Camera:
    raise AssertionError("no camera is opened here")


@dataclass
class Cast:
    """A line's parts, each of which a test may replace."""

    open_camera: Callable[[], Camera] = never
    detector: Detector = field(default_factory=ColourDetector)
    embedder: Embedder = field(default_factory=ColourEmbedder)
    index: LiveGalleryIndex = field(default_factory=ColourIndex)
    sinks: SinkPlans = field(default_factory=dict)
    policy: DecisionPolicy = field(
        default_factory=lambda: DecisionPolicy(PolicyLimits(recheck_after=60, retry_after=60))
    )
    camera_pauses: tuple[float, float] = (0.05, 0.5)
    lossless: bool = False
    replay: bool = False

    def parts(self, tap: FaceTap | None = None) -> Parts:
        return Parts(
            camera_name="door",
            open_camera=self.open_camera,
            open_watcher=self._watcher,
            open_knowledge=self.knowledge,
            sinks=self.sinks,
            colour_order=ColourOrder.BGR,
            limits=EVERYTHING,
            policy=self.policy,
            camera_pauses=self.camera_pauses,
            replay=self.replay,
            lossless=self.lossless,
            tap=tap or FaceTap(),
        )

    @contextmanager
    def _watcher(self) -> Iterator[Watcher]:
        yield Watcher(self.detector, self.detector)

    @contextmanager
    def knowledge(self) -> Iterator[Knowledge]:
        """What the recognising stage opens."""
        yield Knowledge(self.embedder, self.index, lambda size: 0.9)
