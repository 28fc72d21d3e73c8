"""Who is in the tail: "impostor" scores that no tail of strangers explains.

The highest scores of a picture collection are often no impostors: one person under two names, a
picture in the wrong folder, twins.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from edgefaced.core.comparisons import Comparisons
from edgefaced.core.peaks import LEAST_PEAKS, fit_peaks, peaks_of
from edgefaced.core.tail import ParetoTail

SUSPECT_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Suspect:
    """Two people with a score that the tail cannot explain: perhaps one person, or relatives.

    `comparisons` of theirs lie in the tail, `highest` between `first_picture` and
    `second_picture` (indices of pictures).
    """

    highest: float
    comparisons: int
    first_picture: int
    second_picture: int


@dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """The people pairs, highest score first, and a mask over the tail of their comparisons."""

    pairs: tuple[Suspect, ...]
    in_tail: NDArray[np.bool_]

    @property
    def comparisons(self) -> int:
        return int(np.count_nonzero(self.in_tail))


def find_suspects(comparisons: Comparisons, *, rounds: int = 20) -> Suspects:
    """Scores where at most 1 % of what scores as high would be strangers, by the fitted tail.

    That is: expected number of comparisons as high <= 1 % of those seen (the rule of Benjamini and
    Hochberg for false discoveries). The first fit is an exponential tail through the median,
    which a few wrong labels cannot move; then the Pareto fit without the suspects' comparisons
    and the rule are repeated until nothing changes, `rounds` times at most. All the tail's
    comparisons of two people with one such score are theirs. Raises ValueError for too few.
    """
    peaks = peaks_of(comparisons)
    count, total = peaks.excesses.size, comparisons.impostors
    rank = np.arange(1, count + 1)
    median = float(np.median(peaks.excesses))
    tail = ParetoTail(peaks.start, count / total, median / log(2.0), 0.0)
    suspect = np.zeros(count, dtype=np.bool_)
    flagged = 0
    for _ in range(rounds):
        expected = total * np.array([tail.fmr(peaks.start + e) for e in peaks.excesses])
        unexplained = np.flatnonzero(expected <= SUSPECT_SHARE * rank)
        flagged = int(unexplained[-1]) + 1 if unexplained.size else 0
        before, suspect = suspect, np.isin(peaks.pair_keys, peaks.pair_keys[:flagged])
        left = count - int(np.count_nonzero(suspect))
        if np.array_equal(before, suspect) or left < LEAST_PEAKS:
            break
        tail = fit_peaks(peaks, (~suspect).astype(np.float64), total)
    in_tail = np.zeros(comparisons.tail.scores.size, dtype=np.bool_)
    in_tail[:count] = suspect
    keys, first_seen = np.unique(peaks.pair_keys[:flagged], return_index=True)
    pairs = [
        Suspect(
            highest=float(comparisons.tail.scores[at]),
            comparisons=int(np.count_nonzero(peaks.pair_keys == key)),
            first_picture=int(comparisons.tail.first[at]),
            second_picture=int(comparisons.tail.second[at]),
        )
        for key, at in zip(keys, first_seen, strict=True)
    ]
    return Suspects(tuple(sorted(pairs, key=lambda pair: -pair.highest)), in_tail)
