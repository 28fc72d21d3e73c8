"""A calibration from all comparisons of a set of pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgefaced.core.calibration import Knot, ScoreCalibration, upper_count
from edgefaced.core.comparisons import BINS, EDGES, Comparisons, bin_of
from edgefaced.core.peaks import LEAST_PEAKS, Peaks, fit_peaks, peaks_of
from edgefaced.core.suspects import Suspects
from edgefaced.core.tail import END, ParetoTail
from edgefaced.types import F64

LEAST_KNOT_COUNT = 100
"""Comparisons that must score at least as high as the last knot."""
LOOSEST_FMR = 0.5
MOST_KNOTS = 25
REPLICATES = 300
DEEPEST_RATE = 1e-10
"""How far down the upper tail is held above the bootstrap: FPIR 1e-6 with 10,000 templates."""


def calibrate(
    comparisons: Comparisons,
    *,
    without: Suspects | None = None,
    replicates: int = REPLICATES,
    seed: int = 1,
) -> ScoreCalibration:
    """Knots from counts, the tail from a fit, upper bounds from a bootstrap over people.

    `without` leaves the suspects' comparisons in the tail out of everything. People, not scores,
    are drawn again: the scores of one person are not independent. Raises ValueError where there
    is too little to measure.
    """
    peaks = peaks_of(comparisons)
    in_tail = np.zeros(comparisons.tail.scores.size, dtype=np.bool_)
    if without is not None:
        in_tail = without.in_tail
    kept = (~in_tail[: peaks.excesses.size]).astype(np.float64)
    if kept.sum() < LEAST_PEAKS:
        raise ValueError("most of the highest scores are suspect: nothing is left to fit")
    bins = comparisons.impostor_bins - _bins_of_tail(comparisons, in_tail)
    # (people, BINS + 1): comparisons of each person that score at least each edge.
    reaching = np.zeros((comparisons.people, BINS + 1), dtype=np.float64)
    reaching[:, :BINS] = np.cumsum(bins[:, ::-1], axis=1)[:, ::-1]
    edges = _knot_edges(reaching.sum(axis=0) / 2.0)
    compared = reaching[:, 0]
    total = float(compared.sum() / 2.0)

    knots: list[Knot] = []
    for edge in edges[::-1]:  # from the far end, so that a bound cannot rise with the score
        rate, upper = _rate_and_bound(reaching[:, edge], compared)
        upper = max(upper, knots[-1].fmr_upper) if knots else upper
        knots.append(Knot(float(EDGES[edge]), rate, upper))

    tail = fit_peaks(peaks, kept, total)
    ends = (peaks.first_person, peaks.second_person)
    at_start = sum(np.bincount(e, weights=kept, minlength=comparisons.people) for e in ends)
    _, start_upper = _rate_and_bound(np.asarray(at_start), compared)
    grid = _deep_scores(tail)
    curve = _bootstrap_bound(comparisons, peaks, kept, grid, replicates, seed)
    return ScoreCalibration(
        knots=tuple(reversed(knots)),
        tail=tail,
        tail_upper=_upper_tail(tail, start_upper, grid, curve),
        identities=comparisons.people,
        comparisons=round(total),
    )


def _bins_of_tail(comparisons: Comparisons, in_tail: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(people, BINS) counts of the masked comparisons, each for either person."""
    counts = np.zeros_like(comparisons.impostor_bins)
    bins = bin_of(comparisons.tail.scores[in_tail])
    for side in (comparisons.tail.first, comparisons.tail.second):
        np.add.at(counts, (comparisons.owners[side[in_tail]], bins), 1)
    return counts


def _knot_edges(reaching: F64) -> NDArray[np.intp]:
    """Indices of the edges between FMR 0.5 and the last one that 100 comparisons reach."""
    usable = (reaching <= LOOSEST_FMR * reaching[0]) & (reaching >= LEAST_KNOT_COUNT)
    edges = np.flatnonzero(usable)
    if edges.size < 2:
        raise ValueError("impostor scores fall into one step of 0.01: nothing to calibrate")
    step = -(-edges.size // MOST_KNOTS)
    return edges[::-1][::step][::-1]


def _rate_and_bound(reaching: F64, compared: F64) -> tuple[float, float]:
    """Share of comparisons that reach a score, and its upper 95 % bound; counts are per person.

    Drawing people again gives a first-order variance that has a closed form: the sum over people
    of (their reaching - rate * their compared) squared. It says how many independent comparisons
    the counted ones are worth, and the Poisson bound of that many is scaled back (after Korn and
    Graubard, Survey Methodology 24, 1998): right for many counts and for few.
    """
    counted, total = float(reaching.sum() / 2.0), float(compared.sum() / 2.0)
    rate = counted / total
    variance = float(np.sum((reaching - rate * compared) ** 2))
    worth = min(counted, counted**2 / variance) if variance > 0.0 else counted
    return rate, min(1.0, rate * upper_count(worth) / worth)


def _bootstrap_bound(
    comparisons: Comparisons, peaks: Peaks, kept: F64, grid: F64, replicates: int, seed: int
) -> F64:
    """95 % quantile, at each score of `grid`, of tails fitted to people drawn again.

    A comparison of i and j weighs drawn_i * drawn_j; somebody drawn twice is not compared with
    himself.
    """
    generator = np.random.default_rng(seed)
    people = comparisons.people
    pictures = np.bincount(comparisons.owners, minlength=people).astype(np.float64)
    fair = np.full(people, 1.0 / people)
    curves = np.zeros((replicates, grid.size))
    for curve in curves:
        drawn = generator.multinomial(people, fair).astype(np.float64)
        weights = kept * drawn[peaks.first_person] * drawn[peaks.second_person]
        if weights.any():
            shown = drawn * pictures
            total = float(shown.sum() ** 2 - np.sum(shown**2)) / 2.0
            tail = fit_peaks(peaks, weights, total)
            curve[:] = [tail.fmr(score) for score in grid]
    return np.asarray(np.quantile(curves, 0.95, axis=0), dtype=np.float64)


def _deep_scores(tail: ParetoTail) -> F64:
    """Scores at which the tail has fallen to half its rate and on, by halves, to 1e-10."""
    low, scores = tail.start, []
    rate = tail.rate / 2.0
    while rate >= DEEPEST_RATE:
        high = 1.0
        for _ in range(40):
            middle = (low + high) / 2.0
            low, high = (low, middle) if tail.fmr(middle) <= rate else (middle, high)
        if high >= EDGES[-2]:
            break
        scores.append(high)
        rate /= 2.0
    return np.array(scores)


def _upper_tail(tail: ParetoTail, rate: float, grid: F64, curve: F64) -> ParetoTail:
    """The lightest tail that reaches score 1 and nowhere runs below the bootstrap's `curve`.

    For each ratio t = shape / scale the tail is rate * exp(-steepness * log(1 + t * excess) / t),
    and the steepest one that stays above the curve is known; the lightest over the grid is taken.
    """
    room = END - tail.start
    excesses = grid - tail.start
    with np.errstate(divide="ignore"):
        fall = np.maximum(np.log(rate) - np.log(curve), 0.0)
    lightest = ParetoTail(tail.start, rate, room, -1.0)
    depth = 0.0
    for t in np.concatenate([[-1.0, -0.5, -0.2, 1e-6], np.geomspace(0.1, 1e3, 40)]) / room:
        path = np.log1p(t * excesses) / t
        steepness = float(np.min(fall / path, initial=np.inf))
        if np.isfinite(steepness) and steepness * float(path.sum()) > depth:
            depth = steepness * float(path.sum())
            lightest = ParetoTail(tail.start, rate, 1.0 / steepness, float(t) / steepness)
    return lightest
