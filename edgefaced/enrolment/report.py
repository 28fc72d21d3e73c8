"""What became of an enrolment, picture by picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgefaced.errors import DependencyMissing, EdgefacedError, PictureError, Refused
from edgefaced.gallery.document import person_body
from edgefaced.gallery.records import Person


@dataclass(frozen=True, slots=True)
class PictureReport:
    """One picture: kept where `gate` is empty; `detail` says more in words for a person.

    `score` is the cosine that decided, where one did. `error` is set for what could not be read.
    """

    path: Path
    gate: str
    detail: str
    score: float | None = None
    error: PictureError | DependencyMissing | None = None

    @property
    def kept(self) -> bool:
        return not self.gate


@dataclass(frozen=True, slots=True)
class EnrolmentReport:
    """The whole of it. Either `person` is set and some pictures were kept, or `refusal` says why.

    `threshold` is the gallery's for one more person; `lowest_without_itself` the lowest score at
    which one of the person's templates is found by the others (None for a single one).
    """

    name: str
    pictures: tuple[PictureReport, ...]
    threshold: float
    person: Person | None = None
    lowest_without_itself: float | None = None
    refusal: EdgefacedError | None = None

    @property
    def kept(self) -> int:
        return sum(picture.kept for picture in self.pictures)


def nothing_kept(name: str, pictures: Sequence[PictureReport]) -> EdgefacedError:
    """The one error for an enrolment without a picture, with the exit code that it deserves."""
    errors = [picture.error for picture in pictures if picture.error is not None]
    if not pictures:
        return PictureError("no picture was given", "name pictures, or a folder that has some")
    if len(errors) == len(pictures):
        if len(errors) == 1 or all(isinstance(error, DependencyMissing) for error in errors):
            return errors[0]
        return PictureError(
            f"none of the {len(pictures)} pictures can be read", f"the first: {errors[0].message}"
        )
    if len(pictures) == 1:
        only = pictures[0]
        return Refused(f"{name} was not enrolled: {only.gate}", only.detail)
    gates = Counter(picture.gate for picture in pictures)
    said = ", ".join(f"{gate} {count}" for gate, count in gates.most_common())
    return Refused(f"{name} was not enrolled, no picture could be kept: {said}")


def report_body(report: EnrolmentReport) -> dict[str, Any]:
    """Plain JSON values."""
    return {
        "name": report.name,
        "person": None if report.person is None else person_body(report.person),
        "kept": report.kept,
        "threshold": report.threshold,
        "lowest_without_itself": report.lowest_without_itself,
        "pictures": [
            {
                "path": str(picture.path),
                "kept": picture.kept,
                "gate": picture.gate or None,
                "detail": picture.detail,
                "score": picture.score,
            }
            for picture in report.pictures
        ],
    }
