"""Detector and embedder of one pack, opened together: a frame in, faces and embeddings out."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from edgefaced.config.sections import InferenceSection
from edgefaced.core.quality import measure_quality
from edgefaced.core.sampling import cut_face
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore
from edgefaced.protocols import Detector, Embedder, InferenceBackend
from edgefaced.recognition.choose import Means, means_of, open_network
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.recognition.embedder import NetworkEmbedder
from edgefaced.types import (
    FACE_SIDE_PX,
    AlignedFace,
    Embedding,
    FaceDetection,
    Frame,
    Quality,
    Role,
)


@dataclass(frozen=True, slots=True, eq=False)
class FaceObservation:
    """One face of a frame: where it is, its own upright copy, and what that copy is worth."""

    detection: FaceDetection
    aligned: AlignedFace
    quality: Quality


class Recogniser:
    """The serial path from a frame to embeddings; used by the thread that opened it."""

    def __init__(
        self, detector: Detector, embedder: Embedder, backends: tuple[InferenceBackend, ...]
    ) -> None:
        self.detector = detector
        self.embedder = embedder
        self._backends = backends

    @property
    def model_id(self) -> str:
        """Id of the embeddings this recogniser makes."""
        return self.embedder.model_id

    def detect(self, frame: Frame) -> list[FaceDetection]:
        """Faces in frame coordinates, highest score first."""
        return self.detector.detect(frame)

    def align(self, frame: Frame, detection: FaceDetection) -> AlignedFace:
        """An own 112x112 copy of the face, in the channel order that the embedder takes."""
        order = self.embedder.colour_order
        return AlignedFace(cut_face(frame, detection.landmarks, order), order)

    def quality(self, frame: Frame, detection: FaceDetection, aligned: AlignedFace) -> Quality:
        """What this picture of the face is worth."""
        return measure_quality(
            aligned.pixels,
            aligned.colour_order,
            detection.landmarks,
            frame_width=frame.width,
            frame_height=frame.height,
        )

    def embed(self, aligned: AlignedFace) -> Embedding:
        """Raises EmbeddingError where the network's answer is not a direction."""
        return self.embedder.embed(aligned)

    def observe(self, frame: Frame) -> list[FaceObservation]:
        """Every face of a frame, aligned and measured; nothing is embedded yet."""
        observations: list[FaceObservation] = []
        for detection in self.detect(frame):
            aligned = self.align(frame, detection)
            quality = self.quality(frame, detection, aligned)
            observations.append(FaceObservation(detection, aligned, quality))
        return observations

    def close(self) -> None:
        """Releases both networks; closing twice is allowed."""
        for backend in self._backends:
            backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_recogniser(
    store: ModelStore,
    manifest: PackManifest,
    *,
    detector_size: int,
    threads: int,
    score_threshold: float | None = None,
    means: Means | None = None,
) -> Recogniser:
    """Loads a pack's networks by `means`, absent: this machine's, as if nothing were configured.

    `detector_size` is the larger side of the detector's input in pixels, one of those the pack
    prepares. Raises what opening a network raises.
    """
    detector_spec = manifest.of_role(Role.DETECTOR)
    embedder_spec = manifest.of_role(Role.EMBEDDER)
    means = means or means_of(InferenceSection())
    opened: list[InferenceBackend] = []
    try:
        for spec, size in ((detector_spec, detector_size), (embedder_spec, FACE_SIDE_PX)):
            opened.append(open_network(store, spec, size, threads, means))
        detector = NetworkDetector(
            opened[0], detector_spec, size=detector_size, score_threshold=score_threshold
        )
        embedder = NetworkEmbedder(opened[1], embedder_spec)
    except BaseException:
        for backend in opened:
            backend.close()
        raise
    return Recogniser(detector, embedder, tuple(opened))
