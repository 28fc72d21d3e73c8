"""From a similarity to a false match rate, and from a promise to strangers to a threshold.

FMR is the share of comparisons of different people that score at least a threshold; FPIR the
share of strangers' attempts that match anybody in a gallery of N: 1 - (1 - FMR)^N. Every rate here
speaks of unrelated strangers like those measured, not of twins and not of photographs.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import exp, expm1, log, log1p, sqrt

from edgefaced.core.tail import ParetoTail

HIGHEST_SCORE = 1.0
Z_95 = 1.6448536269514722
"""95 % quantile of the normal distribution: every upper bound here is one-sided at 95 %."""


class Basis(StrEnum):
    """What a threshold rests on."""

    FIXED = "fixed"
    """A score that a person chose."""
    FLOOR = "floor"
    """The target is looser than anything measured: the lowest measured score."""
    MEASURED = "measured"
    """Counted impostor comparisons."""
    FITTED = "fitted"
    """The fitted tail, at rates that the measurement could have shown."""
    EXTRAPOLATED = "extrapolated"
    """The fitted tail, at rates below the measurement's resolution."""
    UNREACHABLE = "unreachable"
    """Not even score 1 promises the target; the threshold is 1."""


@dataclass(frozen=True, slots=True)
class Knot:
    """False match rate at a score, and its upper 95 % bound."""

    score: float
    fmr: float
    fmr_upper: float


@dataclass(frozen=True, slots=True)
class ScoreCalibration:
    """False match rate at every score: measured knots, log-linear between them, then the tail.

    Knots ascend in score; rates are above 0 and do not rise. Raises ValueError otherwise.
    """

    knots: tuple[Knot, ...]
    tail: ParetoTail
    tail_upper: ParetoTail
    identities: int
    comparisons: int

    def __post_init__(self) -> None:
        if len(self.knots) < 2:
            raise ValueError("a calibration needs two knots")
        for a, b in pairwise(self.knots):
            if not a.score < b.score <= HIGHEST_SCORE:
                raise ValueError("scores must ascend and be at most 1")
            if not (a.fmr >= b.fmr and a.fmr_upper >= b.fmr_upper):
                raise ValueError("false match rates must not rise with the score")
        if not all(0.0 < k.fmr <= k.fmr_upper for k in self.knots):
            raise ValueError("a false match rate lies above 0 and its upper bound not below it")

    def fmr(self, score: float) -> float:
        """Best estimate. Below the first knot, where nothing was kept, 1."""
        return self._rate(score, [k.fmr for k in self.knots], self.tail)

    def fmr_upper(self, score: float) -> float:
        """Upper 95 % bound. Below the first knot 1."""
        return self._rate(score, [k.fmr_upper for k in self.knots], self.tail_upper)

    def _rate(self, score: float, rates: list[float], tail: ParetoTail) -> float:
        scores = [k.score for k in self.knots]
        if not score >= scores[0]:  # also for NaN
            return 1.0
        if score > scores[-1]:
            return min(rates[-1], tail.fmr(score))
        right = min(bisect_right(scores, score), len(scores) - 1)
        a, b = scores[right - 1], scores[right]
        part = (score - a) / (b - a)
        return min(1.0, exp((1.0 - part) * log(rates[right - 1]) + part * log(rates[right])))

    @property
    def resolution(self) -> float:
        """Lowest rate that the measurement could tell from zero.

        Rule of three: no error in n trials proves a rate below 3 / n. The trials are counted as
        independent ones, fewer than the comparisons by the factor that the bootstrap found.
        """
        last = self.knots[-1]
        counted = last.fmr * self.comparisons
        relative_error = (last.fmr_upper / last.fmr - 1.0) / Z_95
        inflation = max(1.0, counted * relative_error**2)
        return min(1.0, 3.0 * inflation / self.comparisons)

    def threshold_for_fmr(self, fmr: float, *, upper: bool = False) -> float:
        """Lowest score, from the first knot to 1, whose rate (or `upper` bound) is at most `fmr`.

        1 where no score promises it.
        """
        rate = self.fmr_upper if upper else self.fmr
        low, high = self.knots[0].score, HIGHEST_SCORE
        if rate(low) <= fmr:
            return low
        for _ in range(60):
            middle = (low + high) / 2.0
            if rate(middle) <= fmr:
                high = middle
            else:
                low = middle
        return high


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """A threshold, the rates it stands for and what they rest on.

    Rates are absent for a fixed threshold without a calibration. `gallery_size` is the N of FPIR.
    """

    threshold: float
    basis: Basis
    gallery_size: int
    fmr: float | None
    fmr_upper: float | None

    @property
    def extrapolated(self) -> bool:
        """Whether the rates lie beyond what the measurement could show."""
        return self.basis in {Basis.EXTRAPOLATED, Basis.UNREACHABLE}

    @property
    def fpir(self) -> float | None:
        """Share of a stranger's attempts that match anybody: best estimate."""
        return None if self.fmr is None else fpir_for_fmr(self.fmr, self.gallery_size)

    @property
    def fpir_upper(self) -> float | None:
        """The same from the upper 95 % bound of FMR."""
        return None if self.fmr_upper is None else fpir_for_fmr(self.fmr_upper, self.gallery_size)


def fpir_for_fmr(fmr: float, gallery_size: int) -> float:
    """1 - (1 - FMR)^N, without the rounding that eats small rates. N is at least 1.

    N counts independent comparisons. A probe is scored against the best template of each person,
    so a person with k different templates gives a stranger up to k chances: with N = templates
    the result is an upper bound, with N = people it holds for one template each.
    """
    if fmr >= 1.0:
        return 1.0
    return -expm1(max(gallery_size, 1) * log1p(-fmr))


def fmr_for_fpir(fpir: float, gallery_size: int) -> float:
    """The FMR that a gallery of N needs for a target FPIR. Raises ValueError outside 0..1."""
    if not 0.0 < fpir < 1.0:
        raise ValueError(f"a target FPIR lies between 0 and 1, not {fpir:g}")
    return -expm1(log1p(-fpir) / max(gallery_size, 1))


def choose_threshold(
    calibration: ScoreCalibration, target_fpir: float, gallery_size: int
) -> ThresholdChoice:
    """The lowest threshold whose *upper* 95 % bound keeps the target in a gallery of this size."""
    fmr = fmr_for_fpir(target_fpir, gallery_size)
    threshold = calibration.threshold_for_fmr(fmr, upper=True)
    upper = calibration.fmr_upper(threshold)
    if upper > fmr:
        basis = Basis.UNREACHABLE
    elif threshold == calibration.knots[0].score:
        basis = Basis.FLOOR
    elif threshold <= calibration.knots[-1].score:
        basis = Basis.MEASURED
    elif fmr >= calibration.resolution:
        basis = Basis.FITTED
    else:
        basis = Basis.EXTRAPOLATED
    return ThresholdChoice(threshold, basis, gallery_size, calibration.fmr(threshold), upper)


def fixed_threshold(
    threshold: float, gallery_size: int, calibration: ScoreCalibration | None
) -> ThresholdChoice:
    """A threshold that a person chose, with its rates where there is a calibration."""
    if calibration is None:
        return ThresholdChoice(threshold, Basis.FIXED, gallery_size, None, None)
    fmr, upper = calibration.fmr(threshold), calibration.fmr_upper(threshold)
    return ThresholdChoice(threshold, Basis.FIXED, gallery_size, fmr, upper)


def upper_count(count: float) -> float:
    """Upper 95 % bound of a Poisson mean when `count` events (a fraction is allowed) were seen.

    Byar's approximation of the exact bound; within 1 % of it, also at 0, where it is about 3.
    """
    n = count + 1.0
    return float(n * (1.0 - 1.0 / (9.0 * n) + Z_95 / (3.0 * sqrt(n))) ** 3)
