"""Our whole path, from a frame to a decision, with a clock between the stages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from edgefaced.benchmark.clocked import ClockedBackend
from edgefaced.benchmark.copied import Copied
from edgefaced.benchmark.spread import Spread, spread
from edgefaced.config.sections import InferenceSection
from edgefaced.core.decision import decide
from edgefaced.core.gates import QualityLimits, quality_faults
from edgefaced.errors import UsageError
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore
from edgefaced.pipeline.perceive import BYTES_PER_FACE
from edgefaced.protocols import GalleryIndex
from edgefaced.recognition.choose import Means, means_of, open_network
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.recognition.embedder import NetworkEmbedder
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.types import (
    FACE_SIDE_PX,
    Decision,
    Embedding,
    FaceDetection,
    Frame,
    Liveness,
    Role,
)

STAGES = (
    "feed",
    "detect network",
    "decode and nms",
    "align",
    "quality",
    "embed network",
    "normalise",
    "match",
    "decide",
)
NETWORKS = ("detect network", "embed network")

THRESHOLD, MINIMUM_MARGIN = 0.4, 0.05
"""Any: a comparison costs the same whatever it is held against."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One frame's way: nanoseconds of each of STAGES, and of all from first to last."""

    stages_ns: tuple[int, ...]
    total_ns: int
    decision: Decision

    @property
    def outside_ns(self) -> int:
        """All that is not spent in a network."""
        networks = (STAGES.index(name) for name in NETWORKS)
        return self.total_ns - sum(self.stages_ns[index] for index in networks)


@dataclass(frozen=True, slots=True)
class NetworkTimes:
    """Of detector and embedder: each alone, and both, one after the other; and what a run moves.

    `bytes_in` goes to the network, `bytes_out` comes from it, as tensors of this program.
    """

    alone: tuple[Spread, Spread]
    back_to_back: Spread
    bytes_in: tuple[int, int]
    bytes_out: tuple[int, int]


@dataclass(frozen=True, slots=True)
class StageSpread:
    """One stage's times."""

    name: str
    times: Spread


@dataclass(frozen=True, slots=True)
class PipelineFigures:
    """Times of every stage, of all of them, and of what happens outside the networks."""

    stages: tuple[StageSpread, ...]
    outside_networks: Spread
    total: Spread


class Pipeline:
    """Detector, embedder and quality gates of one pack; used by the thread that opened it."""

    def __init__(
        self,
        recogniser: Recogniser,
        detector: NetworkDetector,
        clocks: tuple[ClockedBackend, ClockedBackend],
        limits: QualityLimits,
    ) -> None:
        """`clocks` are around the detector's network and the embedder's."""
        self.recogniser = recogniser
        self._detector = detector
        self._clocks = clocks
        self._limits = limits

    def face_of(self, frame: Frame) -> tuple[FaceDetection, Embedding]:
        """The one face of a frame. Raises UsageError where there is none or several."""
        faces = self.recogniser.observe(frame)
        if len(faces) != 1:
            raise UsageError(
                f"{len(faces)} faces found in the picture", "measure with a picture of one face"
            )
        return faces[0].detection, self.recogniser.embed(faces[0].aligned)

    def run_networks(self, frame: Frame, runs: int) -> NetworkTimes:
        """Nothing but the networks, on one frame that is fed once and its face."""
        aligned = self.recogniser.align(frame, self.face_of(frame)[0])
        self._detector.feed(frame)
        finding, embedding = self._clocks

        def detect() -> int:
            self._detector.infer()
            return finding.last_ns

        def embed() -> int:
            self.recogniser.embed(aligned)
            return embedding.last_ns

        detect(), embed()  # the first runs after a pause are slower: clocks and caches
        alone = [[run() for _ in range(runs)] for run in (detect, embed)]
        return NetworkTimes(
            alone=(spread(_ms(alone[0])), spread(_ms(alone[1]))),
            back_to_back=spread(_ms([detect() + embed() for _ in range(runs)])),
            bytes_in=(finding.bytes_in, embedding.bytes_in),
            bytes_out=(finding.bytes_out, embedding.bytes_out),
        )

    def copied(self, frame: Frame) -> Copied:
        """For a frame of one face."""
        return Copied(
            self._detector.bytes_copied(frame) + BYTES_PER_FACE,
            self._detector.input_bytes(frame) + BYTES_PER_FACE,
        )

    def pass_through(self, frame: Frame, index: GalleryIndex) -> Passage:
        """One frame of one face, from its pixels to the decision."""
        clock = time.perf_counter_ns
        start = clock()
        box = self._detector.feed(frame)
        fed = clock()
        tensors = self._detector.infer()
        inferred = clock()
        (detection,) = self._detector.read(box, tensors)
        found = clock()
        aligned = self.recogniser.align(frame, detection)
        upright = clock()
        quality = self.recogniser.quality(frame, detection, aligned)
        measured = clock()
        embedding = self.recogniser.embed(aligned)
        embedded = clock()
        match = index.search(embedding)
        matched = clock()
        decision = decide(
            match,
            threshold=THRESHOLD,
            minimum_margin=MINIMUM_MARGIN,
            quality_faults=quality_faults(quality, self._limits),
            liveness=Liveness.NOT_CHECKED,
        )
        end = clock()
        network = self._clocks[1].last_ns
        stages = (
            fed - start,
            inferred - fed,
            found - inferred,
            upright - found,
            measured - upright,
            network,
            embedded - measured - network,
            matched - embedded,
            end - matched,
        )
        return Passage(stages, end - start, decision)


@contextmanager
def open_pipeline(
    store: ModelStore,
    manifest: PackManifest,
    *,
    detector_size: int,
    threads: int,
    limits: QualityLimits,
    means: Means | None = None,
) -> Iterator[Pipeline]:
    """Loads a pack's networks as `open_recogniser` does, with clocks around them."""
    means = means or means_of(InferenceSection())
    detector_spec, embedder_spec = manifest.of_role(Role.DETECTOR), manifest.of_role(Role.EMBEDDER)
    with ExitStack() as opened:
        clocks: list[ClockedBackend] = []
        for spec, size in ((detector_spec, detector_size), (embedder_spec, FACE_SIDE_PX)):
            backend = open_network(store, spec, size, threads, means)
            opened.callback(backend.close)
            clocks.append(ClockedBackend(backend))
        detector = NetworkDetector(clocks[0], detector_spec, size=detector_size)
        recogniser = Recogniser(detector, NetworkEmbedder(clocks[1], embedder_spec), ())
        yield Pipeline(recogniser, detector, (clocks[0], clocks[1]), limits)


def figures(passages: Sequence[Passage]) -> PipelineFigures:
    """Raises ValueError without a passage."""
    stages = zip(STAGES, zip(*(p.stages_ns for p in passages), strict=True), strict=True)
    return PipelineFigures(
        stages=tuple(StageSpread(name, spread(_ms(times))) for name, times in stages),
        outside_networks=spread(_ms([p.outside_ns for p in passages])),
        total=spread(_ms([p.total_ns for p in passages])),
    )


def _ms(times_ns: Sequence[int]) -> list[float]:
    return [ns / 1e6 for ns in times_ns]
