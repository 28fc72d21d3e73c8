"""What `edgefaced identify` has seen in a picture or a frame: the faces, decided and named."""

from __future__ import annotations

from dataclasses import dataclass

from edgefaced.recognition.identification import IdentifiedFace
from edgefaced.types import Outcome


@dataclass(frozen=True, slots=True, eq=False)
class NamedFace:
    """One face with its decision, and the name of a known person."""

    identified: IdentifiedFace
    name: str | None


@dataclass(frozen=True, slots=True, eq=False)
class SeenFrame:
    """A picture (`seconds` is None) or one frame of a video, its faces from left to right.

    A picture without a face may show one when turned clockwise by `turn_degrees`.
    """

    width: int
    height: int
    seconds: float | None
    faces: tuple[NamedFace, ...]
    turn_degrees: int = 0

    @property
    def known(self) -> int:
        """How many of the faces are of people who are enrolled."""
        return sum(face.identified.decision.outcome is Outcome.KNOWN for face in self.faces)
