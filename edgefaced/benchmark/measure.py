"""One measurement: our stages at each detector size and, where asked for, others beside us."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import cv2

from edgefaced.benchmark.copied import Copied
from edgefaced.benchmark.crowd import empty_gallery, enrol_crowd
from edgefaced.benchmark.peer import Peer
from edgefaced.benchmark.pipeline import Pipeline, PipelineFigures, figures, open_pipeline
from edgefaced.benchmark.quiet import Noise, Watch
from edgefaced.benchmark.scene import scene
from edgefaced.benchmark.side_by_side import Comparison, compare
from edgefaced.config.settings import Settings
from edgefaced.errors import UsageError
from edgefaced.gallery.index import LiveIndex, open_index
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.recognition.choose import means_of
from edgefaced.types import Frame, Role

Beside = Literal["insightface", "opencv"]

CAMERA_BUFFERS = 3
"""The frame is read from as many places in turn, as a camera's buffers are."""

WARM_UP = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured. `picture` is None for a photograph of the pack's own."""

    manifest: PackManifest
    sizes: tuple[int, ...]
    frames: int
    rounds: int
    templates: int
    threads: int
    picture: Path | None
    beside: tuple[Beside, ...]


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """All that was measured at one detector size, and what else the machine did meanwhile."""

    size: int
    picture: str
    pipeline: PipelineFigures
    copied: Copied
    comparisons: tuple[Comparison, ...]
    noise: Noise


def measure(
    plan: Plan,
    store: ModelStore,
    settings: Settings,
    told: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Iterator[SizeFigures]:
    """The figures of each size as they come; `told(what, done, total)` hears of the progress.

    Raises UsageError for a picture without exactly one face.
    """
    # One number for everybody: OpenCV's own pool of threads scales and warps, here and there.
    cv2.setNumThreads(plan.threads)
    for size in plan.sizes:
        with ExitStack() as opened:
            pipeline = opened.enter_context(
                open_pipeline(
                    store,
                    plan.manifest,
                    detector_size=size,
                    threads=plan.threads,
                    limits=settings.quality.limits(),
                    means=means_of(settings.inference),
                )
            )
            picture, frame = choose_picture(plan, store, pipeline)
            gallery = opened.enter_context(empty_gallery())
            index = crowded_index(gallery, pipeline, frame, plan.templates, settings)
            peers = [
                peer for name in plan.beside for peer in _peers(name, plan, store, size, opened)
            ]
            watch = Watch()
            stages = _stages(pipeline, index, frame, plan.frames, told, f"stages at {size}")

            def turned(done: int, size: int = size) -> None:
                told(f"in turns at {size}", done, plan.rounds)

            sides = compare(pipeline, index, frame, peers, plan.rounds, turned) if peers else ()
            copied = pipeline.copied(frame)
            yield SizeFigures(size, picture, stages, copied, sides, watch.noise())


def choose_picture(plan: Plan, store: ModelStore, pipeline: Pipeline) -> tuple[str, Frame]:
    """File name and frame of the picture that is measured on: one face, in 1280x720."""
    if plan.picture is not None:
        frame = frame_of(scene(read_picture(plan.picture)))
        pipeline.face_of(frame)
        return plan.picture.name, frame
    for spec in plan.manifest.proof:
        if store.photograph(spec) is None:
            continue
        frame = frame_of(scene(read_picture(store.layout.photograph(spec))))
        if len(pipeline.recogniser.detect(frame)) == 1:
            return spec.file, frame
    raise UsageError(
        f"pack {plan.manifest.name} has no photograph of one face on this machine",
        "--picture FILE names one",
    )


def crowded_index(
    gallery: Gallery, pipeline: Pipeline, frame: Frame, templates: int, settings: Settings
) -> LiveIndex:
    """A crowd and the person of the frame."""
    _, embedding = pipeline.face_of(frame)
    gallery.enrol("Somebody", [NewTemplate(embedding)])
    enrol_crowd(gallery, embedding.model_id, embedding.dimension, templates - 1)
    return open_index(gallery, embedding.model_id, settings.gallery.index)


def _stages(
    pipeline: Pipeline,
    index: LiveIndex,
    frame: Frame,
    frames: int,
    told: Callable[[str, int, int], None],
    what: str,
) -> PipelineFigures:
    buffers = in_turn(frame)
    for _ in range(WARM_UP):
        pipeline.pass_through(next(buffers), index)
    passages = []
    for number in range(frames):
        passages.append(pipeline.pass_through(next(buffers), index))
        if number % 25 == 24:
            told(what, number + 1, frames)
    return figures(passages)


def in_turn(frame: Frame) -> Iterator[Frame]:
    """The frame in one buffer after another, for ever."""
    return cycle([frame_of(frame.pixels.copy(), number) for number in range(CAMERA_BUFFERS)])


def _peers(
    name: Beside, plan: Plan, store: ModelStore, size: int, opened: ExitStack
) -> Iterator[Peer]:
    def folder() -> Path:
        return Path(opened.enter_context(TemporaryDirectory(prefix="edgefaced-bench-")))

    if name == "insightface":
        from edgefaced.benchmark import insightface_peer

        for threads in (None, plan.threads):
            yield insightface_peer.open_insightface(
                store, plan.manifest, folder(), size=size, threads=threads
            )
    else:
        from edgefaced.benchmark import opencv_peer

        decoder = plan.manifest.of_role(Role.DETECTOR).decoder
        yunet = decoder is not None and decoder.kind == "yunet"
        original = plan.manifest if yunet else find_pack(opencv_peer.PACK, (store.layout.packs,))
        yield opencv_peer.open_opencv(store, original, plan.manifest, folder(), size=size)
