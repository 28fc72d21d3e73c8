"""Was that right? What was said of the faces of a frame, held against who really was there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum

from edgefaced.core.quality import share_inside
from edgefaced.types import Box, Decision, Outcome

MINIMUM_OVERLAP = 0.3
"""Intersection over union from which a found face is a face that is there."""
MINIMUM_IN_VIEW = 0.6
"""A face of which less than this share is inside the frame may go unnoticed."""


@dataclass(frozen=True, slots=True)
class Truth:
    """A face that is in a frame: whose, whether that person is enrolled, and where."""

    label: str
    enrolled: bool
    box: Box


@dataclass(frozen=True, slots=True)
class Claim:
    """What the recogniser said of a face it found; `name` is given to a known face only."""

    box: Box
    name: str | None
    decision: Decision


class Verdict(StrEnum):
    """What a claim, or the lack of one, amounts to."""

    RECOGNISED = "recognised"
    NOT_RECOGNISED = "not recognised"
    """Somebody enrolled, good to see, and taken for a stranger."""
    REJECTED = "rejected"
    """A stranger who was taken for one."""
    TOO_POOR = "too poor"
    MISSED = "missed"
    FALSE_ACCEPT = "FALSE ACCEPT"
    NO_FACE = "no face"
    """Something was found where no face is, and it was not taken for anybody."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One face of one frame with its verdict: a truth, a claim, or both."""

    verdict: Verdict
    truth: Truth | None
    claim: Claim | None


@dataclass(frozen=True, slots=True)
class Tally:
    """Sightings counted: faces that were there to be seen, and verdicts.

    `false_accepts` is the figure that must be zero.
    """

    faces: int
    recognised: int
    not_recognised: int
    rejected: int
    too_poor: int
    missed: int
    false_accepts: int
    no_face: int

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def judge(
    truths: Sequence[Truth], claims: Sequence[Claim], *, width: int, height: int
) -> tuple[Sighting, ...]:
    """A verdict for every face of a frame of (width, height), and for every stray claim.

    A claim speaks of the face it overlaps most. Of several that speak of one face a wrong name
    counts before anything else, then the one that lies best.
    """
    spoken: list[list[tuple[float, Claim]]] = [[] for _ in truths]
    sightings: list[Sighting] = []
    for claim in claims:
        overlaps = [overlap(truth.box, claim.box) for truth in truths]
        most = max(overlaps, default=0.0)
        if most >= MINIMUM_OVERLAP:
            spoken[overlaps.index(most)].append((most, claim))
        else:
            stray = Verdict.NO_FACE if claim.name is None else Verdict.FALSE_ACCEPT
            sightings.append(Sighting(stray, None, claim))
    for truth, heard in zip(truths, spoken, strict=True):
        if heard:
            _, claim = max(heard, key=lambda item: (_wrong_name(truth, item[1]), item[0]))
            sightings.append(Sighting(_verdict(truth, claim), truth, claim))
        elif share_inside(truth.box, width, height) >= MINIMUM_IN_VIEW:
            sightings.append(Sighting(Verdict.MISSED, truth, None))
    return tuple(sightings)


def tally(sightings: Iterable[Sighting]) -> Tally:
    """The sightings, counted."""
    seen = list(sightings)
    counts = Counter(sighting.verdict for sighting in seen)
    return Tally(
        faces=sum(sighting.truth is not None for sighting in seen),
        recognised=counts[Verdict.RECOGNISED],
        not_recognised=counts[Verdict.NOT_RECOGNISED],
        rejected=counts[Verdict.REJECTED],
        too_poor=counts[Verdict.TOO_POOR],
        missed=counts[Verdict.MISSED],
        false_accepts=counts[Verdict.FALSE_ACCEPT],
        no_face=counts[Verdict.NO_FACE],
    )


def recognised_people(sightings: Iterable[Sighting]) -> frozenset[str]:
    """Labels of the people who were recognised at least once."""
    return frozenset(
        s.truth.label for s in sightings if s.truth and s.verdict is Verdict.RECOGNISED
    )


def overlap(a: Box, b: Box) -> float:
    """Intersection over union of two boxes, 0..1."""
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (a.area + b.area - shared)


def _wrong_name(truth: Truth, claim: Claim) -> bool:
    return claim.name is not None and not (truth.enrolled and claim.name == truth.label)


def _verdict(truth: Truth, claim: Claim) -> Verdict:
    if claim.name is not None:
        return Verdict.FALSE_ACCEPT if _wrong_name(truth, claim) else Verdict.RECOGNISED
    if claim.decision.outcome is Outcome.TOO_POOR:
        return Verdict.TOO_POOR
    return Verdict.NOT_RECOGNISED if truth.enrolled else Verdict.REJECTED
