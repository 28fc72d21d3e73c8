"""Every picture of a set against every other: FNMR at rare false matches, and a look at who."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgefaced.core.comparisons import Comparisons
from edgefaced.core.peaks import enough
from edgefaced.core.suspects import Suspects, find_suspects
from edgefaced.core.verification import OperatingPoint, operating_point
from edgefaced.evaluation.embedding import EmbeddedPictures
from edgefaced.evaluation.people import Pictures

RATES = (1e-3, 1e-4, 1e-5, 1e-6)


@dataclass(frozen=True, slots=True)
class SuspectPictures:
    """Two people with a score that impostors do not reach, and the pictures that reached it."""

    score: float
    comparisons: int
    first: Path
    second: Path


@dataclass(frozen=True, slots=True)
class AllPairs:
    """Operating points as measured, and without the comparisons of suspicious pairs.

    `without_suspects` is empty where there are too few comparisons to look at the tail.
    """

    people: int
    pictures: int
    genuine: int
    impostors: int
    points: tuple[OperatingPoint, ...]
    without_suspects: tuple[OperatingPoint, ...]
    suspects: tuple[SuspectPictures, ...]
    suspect_comparisons: int


def measure_all_pairs(
    comparisons: Comparisons, embedded: EmbeddedPictures, pictures: Pictures
) -> AllPairs:
    """Rates below one comparison of all are left out: they cannot be measured."""
    suspects = find_suspects(comparisons) if enough(comparisons) else None
    everything = np.ones(comparisons.tail.scores.size, dtype=np.bool_)
    return AllPairs(
        people=comparisons.people,
        pictures=comparisons.owners.size,
        genuine=comparisons.genuine.size,
        impostors=comparisons.impostors,
        points=_points(comparisons, everything),
        without_suspects=() if suspects is None else _points(comparisons, ~suspects.in_tail),
        suspects=() if suspects is None else suspect_pictures(suspects, embedded, pictures),
        suspect_comparisons=0 if suspects is None else suspects.comparisons,
    )


def suspect_pictures(
    suspects: Suspects, embedded: EmbeddedPictures, pictures: Pictures
) -> tuple[SuspectPictures, ...]:
    """The suspects with their files."""

    def path(row: int) -> Path:
        return pictures.paths[embedded.found[row]]

    return tuple(
        SuspectPictures(
            pair.highest, pair.comparisons, path(pair.first_picture), path(pair.second_picture)
        )
        for pair in suspects.pairs
    )


def _points(comparisons: Comparisons, kept: NDArray[np.bool_]) -> tuple[OperatingPoint, ...]:
    genuine = comparisons.genuine.astype(np.float64)
    highest = comparisons.tail.scores[kept].astype(np.float64)
    impostors = comparisons.impostors - int(np.count_nonzero(~kept))
    if not genuine.size:
        return ()
    measurable = [rate for rate in RATES if rate * impostors >= 1.0]
    return tuple(operating_point(genuine, highest, impostors, rate) for rate in measurable)
