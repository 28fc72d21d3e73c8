"""One picture on its own: readable, one face, good enough; or the gate that it fails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgefaced.core.gates import QualityLimits, quality_faults
from edgefaced.core.quality_words import explain_fault
from edgefaced.enrolment.finder import FaceFinder, FoundFaces
from edgefaced.errors import DependencyMissing, PictureError
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.recognition.recogniser import FaceObservation
from edgefaced.types import Embedding

UNREADABLE = "unreadable"
NO_FACE = "no face"
UPSIDE_DOWN = "upside down"
SEVERAL_FACES = "several faces"
NO_SUCH_FACE = "no such face"


@dataclass(frozen=True, slots=True)
class FaceRule:
    """Which face of several: `face` counts from 1 at the left, or the `largest`, or none."""

    face: int | None = None
    largest: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A face that may be enrolled: its own small copy and its embedding, no longer the picture."""

    path: Path
    face: FaceObservation
    embedding: Embedding
    how: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """A picture that cannot be used: the gate, and the figure or the way out.

    `error` is set for what could not be read.
    """

    path: Path
    gate: str
    detail: str
    error: PictureError | DependencyMissing | None = None


def examine(
    path: Path, finder: FaceFinder, limits: QualityLimits, rule: FaceRule
) -> Sample | Rejected:
    """Reads one picture, finds the face that is meant and measures it."""
    try:
        frame = frame_of(read_picture(path))
    except (PictureError, DependencyMissing) as error:
        said = error.message.removeprefix(f"{path}: ")
        detail = f"{said} ({error.hint})" if error.hint else said
        return Rejected(path, UNREADABLE, detail, error)
    found = finder.find(frame)
    face = _meant(path, found, rule)
    if isinstance(face, Rejected):
        return face
    if faults := quality_faults(face.quality, limits):
        detail = "; ".join(explain_fault(fault, face.quality, limits) for fault in faults)
        return Rejected(path, ", ".join(faults), detail)
    if finder.is_upside_down(frame, face):
        return Rejected(path, UPSIDE_DOWN, "turn the picture")
    return Sample(path, face, finder.recogniser.embed(face.aligned), found.how)


def _meant(path: Path, found: FoundFaces, rule: FaceRule) -> FaceObservation | Rejected:
    count = len(found.faces)
    if count == 0:
        detail = "nobody to be seen"
        if found.turn_degrees:
            detail = f"there is one when turned by {found.turn_degrees} degrees clockwise: turn it"
        return Rejected(path, NO_FACE, detail)
    if rule.face is not None:
        if rule.face > count:
            return Rejected(
                path, NO_SUCH_FACE, f"face {rule.face} was asked for, there are {count}"
            )
        return found.faces[rule.face - 1]
    if count > 1 and not rule.largest:
        return Rejected(
            path, SEVERAL_FACES, f"{count}; take --largest, or --face N counted from the left"
        )
    return max(found.faces, key=lambda face: face.detection.box.area)
