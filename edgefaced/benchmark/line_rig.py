"""A daemon's line as its composition root makes it, on a film and with a gallery of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from edgefaced.assembly import parts_of
from edgefaced.benchmark.film import Film, Pace
from edgefaced.benchmark.stage_time import StageClocks
from edgefaced.benchmark.tallied import TalliedCamera, Tally
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.errors import UsageError
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.inference.threads import usable_cores
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.pipeline.judge import Knowledge
from edgefaced.pipeline.line import Line
from edgefaced.pipeline.tap import FaceTap
from edgefaced.pipeline.watch import Watcher
from edgefaced.protocols import Camera, SinkPlans
from edgefaced.recognition.recogniser import Recogniser, open_recogniser
from edgefaced.types import U8, Frame, Role

PATIENCE_SECONDS = 120.0
UNCALIBRATED_THRESHOLD = 0.4
"""For packs that are not calibrated; the person is compared with a picture of the same film."""


@dataclass(frozen=True, slots=True)
class Bench:
    """One pack, its settings, and a state folder that is gone after the measurement."""

    settings: Settings
    places: Places
    store: ModelStore
    manifest: PackManifest
    threads: int

    def open_recogniser(self) -> Recogniser:
        """The serial path, set up as the line is."""
        return open_recogniser(
            self.store,
            self.manifest,
            detector_size=self.settings.detection.input_size_px,
            threads=self.threads,
            score_threshold=self.settings.detection.score_threshold,
        )

    def open_gallery(self) -> Gallery:
        return Gallery.open(self.places.gallery_file, self.places.key_file, create=True)

    def enrol(self, name: str, frame: Frame) -> None:
        """The most certain face of a frame. Raises UsageError where there is none."""
        with self.open_recogniser() as recogniser, self.open_gallery() as gallery:
            faces = recogniser.observe(frame)
            if not faces:
                raise UsageError("no face to enrol", "choose a frame that shows one")
            gallery.enrol(name, [NewTemplate(recogniser.embed(faces[0].aligned))])

    def photographs(self) -> list[U8]:
        """Those of the pack that show one face, as BGR pictures."""
        found: list[U8] = []
        with self.open_recogniser() as recogniser:
            for spec in self.manifest.proof:
                if self.store.photograph(spec) is not None:
                    picture = read_picture(self.store.layout.photograph(spec))
                    if len(recogniser.detect(frame_of(picture))) == 1:
                        found.append(picture)
        return found


@contextmanager
def open_bench(settings: Settings, places: Places, pack: str, threads: int) -> Iterator[Bench]:
    """Raises ModelMissing for a pack that is not known."""
    store = ModelStore(places.models_dir)
    manifest = find_pack(pack, (store.layout.packs,))
    recognition = settings.recognition
    if manifest.of_role(Role.EMBEDDER).calibration is None and not recognition.fixed_threshold:
        recognition = recognition.model_copy(update={"fixed_threshold": UNCALIBRATED_THRESHOLD})
    settings = settings.model_copy(
        update={
            "camera": settings.camera.model_copy(
                update={"kind": "replay", "replay_pace": "fast", "replay_loop": False}
            ),
            "models": settings.models.model_copy(update={"pack": pack}),
            "recognition": recognition,
            "inference": settings.inference.model_copy(update={"threads": threads}),
        }
    )
    with TemporaryDirectory(prefix="edgefaced-bench-") as folder:
        own = replace(places, state_dir=Path(folder), credentials_dir=None)
        yield Bench(settings, own, store, manifest, threads)


def line_threads(settings: Settings) -> int:
    """Threads of each network of a line: two run at the same time."""
    return settings.inference.threads or max(1, min(4, usable_cores() // 2))


class Gate:
    """Holds the camera back until every network is loaded; what is used until all work is over.

    Loading and closing are left out, as they are of every other way over the film.
    """

    def __init__(self, parties: int) -> None:
        self._barrier = threading.Barrier(parties + 1)
        self.cpu_seconds = 0.0
        self.begun = 0.0
        self._over = (0.0, 0.0)

    def ready(self) -> None:
        self._barrier.wait(PATIENCE_SECONDS)

    def open(self) -> None:
        self._barrier.wait(PATIENCE_SECONDS)
        self.cpu_seconds, self.begun = time.process_time(), time.monotonic()

    def over(self) -> None:
        """A party has done its work and closes now; the last one counts."""
        self._over = time.process_time(), time.monotonic()

    @property
    def used(self) -> tuple[float, float]:
        """Processor and wall seconds from the opening to the end of the work."""
        return self._over[0] - self.cpu_seconds, self._over[1] - self.begun


def line_on(
    bench: Bench,
    film: Film,
    sinks: SinkPlans,
    tally: Tally,
    *,
    pace: Pace = "fast",
    loop: bool = False,
    numbered: bool = False,
    around: Callable[[Knowledge], Knowledge] = lambda knowledge: knowledge,
    clocks: StageClocks | None = None,
) -> tuple[Line, Gate]:
    """A line that begins with the first frame only when all is loaded.

    `around` may put something around what the recognising stage knows; `clocks` take the time of
    the stages capture, detect and recognise.
    """
    clocks = clocks or StageClocks()
    settings = bench.settings.model_copy(
        update={"camera": bench.settings.camera.model_copy(update={"replay_pace": pace})}
    )
    parts = parts_of(settings, bench.places, sinks, FaceTap())
    gate = Gate(2)

    def open_camera() -> Camera:
        camera = film.open(pace, loop)
        gate.open()
        clocks.start("capture")
        return TalliedCamera(
            camera, tally, numbered=numbered, leaving=lambda: clocks.stop("capture")
        )

    @contextmanager
    def open_watcher() -> Iterator[Watcher]:
        with parts.open_watcher() as watcher:
            gate.ready()
            clocks.start("detect")
            yield watcher
            clocks.stop("detect")
            gate.over()

    @contextmanager
    def open_knowledge() -> Iterator[Knowledge]:
        with parts.open_knowledge() as knowledge:
            gate.ready()
            clocks.start("recognise")
            yield around(knowledge)
            clocks.stop("recognise")
            gate.over()

    made = replace(
        parts, open_camera=open_camera, open_watcher=open_watcher, open_knowledge=open_knowledge
    )
    return Line(made), gate
