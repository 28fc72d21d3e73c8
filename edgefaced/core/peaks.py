"""The highest impostor scores of a set of pictures, and the tail fitted to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgefaced.core.comparisons import EDGES, Comparisons
from edgefaced.core.tail import END, ParetoTail, fit_excesses
from edgefaced.types import F64

LEAST_PEOPLE = 100
LEAST_COMPARISONS = 10_000
LEAST_PEAKS = 50
MOST_PEAKS = 8_000
PEAK_SHARE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Peaks:
    """The part of the tail that a Pareto law is fitted to; arrays run over it, highest first."""

    start: float
    excesses: F64
    pair_keys: NDArray[np.int64]
    first_person: NDArray[np.intp]
    second_person: NDArray[np.intp]


def enough(comparisons: Comparisons) -> bool:
    """Whether there are the people and comparisons that a calibration needs."""
    return comparisons.people >= LEAST_PEOPLE and comparisons.impostors >= LEAST_COMPARISONS


def peaks_of(comparisons: Comparisons) -> Peaks:
    """The highest 1 % of impostor scores, 8,000 at most. Raises ValueError for too little."""
    if not enough(comparisons):
        raise ValueError(
            f"{comparisons.people} people and {comparisons.impostors} comparisons are too few"
        )
    tail = comparisons.tail
    wanted = min(MOST_PEAKS, int(comparisons.impostors * PEAK_SHARE))
    start = float(tail.scores[wanted])
    count = int(np.count_nonzero(tail.scores > start))
    if count < LEAST_PEAKS or start >= EDGES[-2]:
        raise ValueError("the highest impostor scores are all alike: nothing to fit")
    one, other = (comparisons.owners[part[:count]] for part in (tail.first, tail.second))
    keys = np.minimum(one, other) * np.int64(comparisons.people) + np.maximum(one, other)
    excesses = tail.scores[:count].astype(np.float64) - start
    return Peaks(start, excesses, keys.astype(np.int64), one, other)


def fit_peaks(peaks: Peaks, weights: F64, total: float) -> ParetoTail:
    """The tail of greatest likelihood for weighted peaks among `total` comparisons."""
    scale, shape = fit_excesses(peaks.excesses, weights, END - peaks.start)
    return ParetoTail(peaks.start, float(weights.sum()) / total, scale, shape)
