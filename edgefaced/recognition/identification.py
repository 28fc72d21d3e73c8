"""Every face of a frame, with who it is taken for: the stateless path, one frame at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgefaced.core.decision import decide
from edgefaced.core.gates import QualityLimits, quality_faults
from edgefaced.protocols import GalleryIndex
from edgefaced.recognition.recogniser import FaceObservation, Recogniser
from edgefaced.types import Decision, Liveness, Match


@dataclass(frozen=True, slots=True, eq=False)
class IdentifiedFace:
    """One face, the gates it fails, what the gallery answered and what is said of it."""

    face: FaceObservation
    faults: tuple[str, ...]
    match: Match | None
    decision: Decision


@dataclass(frozen=True, slots=True)
class Rules:
    """When a face is a person."""

    threshold: float
    minimum_margin: float
    limits: QualityLimits


def identify_faces(
    faces: Sequence[FaceObservation], recogniser: Recogniser, index: GalleryIndex, rules: Rules
) -> list[IdentifiedFace]:
    """A decision for each face; one that fails a gate is not compared with anybody."""
    identified: list[IdentifiedFace] = []
    for face in faces:
        faults = quality_faults(face.quality, rules.limits)
        match = None if faults else index.search(recogniser.embed(face.aligned))
        decision = decide(
            match,
            threshold=rules.threshold,
            minimum_margin=rules.minimum_margin,
            quality_faults=faults,
            liveness=Liveness.NOT_CHECKED,
        )
        identified.append(IdentifiedFace(face, faults, match, decision))
    return identified
