"""The far end of impostor scores: a generalised Pareto tail over a high score.

Peaks over threshold: whatever the distribution, its excesses over a high enough score follow
a generalised Pareto law (Pickands, Ann. Statist. 3, 1975), of which two numbers are fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np

from edgefaced.types import F64

NEARLY_EXPONENTIAL = 1e-9


@dataclass(frozen=True, slots=True)
class ParetoTail:
    """Share of impostor comparisons at or above a score, for scores from `start` on.

    rate * (1 + shape * (score - start) / scale) ** (-1 / shape); with shape 0 the exponential.
    """

    start: float
    rate: float
    scale: float
    shape: float

    def fmr(self, score: float) -> float:
        """Below `start` the rate at `start`; beyond the end of a bounded tail 0."""
        excess = max(score - self.start, 0.0) / self.scale
        if abs(self.shape) < NEARLY_EXPONENTIAL:
            return self.rate * exp(-excess)
        base = 1.0 + self.shape * excess
        if base <= 0.0:
            return 0.0
        return self.rate * exp(-log(base) / self.shape)


def fit_excesses(excesses: F64, weights: F64) -> tuple[float, float]:
    """Scale and shape of greatest likelihood for weighted `excesses` > 0 over a threshold.

    With t = shape / scale given, the best shape is the mean of log(1 + t * excess), so one number
    is searched (Grimshaw, Technometrics 35, 1993): a coarse scan, then a golden section.
    """
    total = float(weights.sum())
    mean = float(weights @ excesses) / total
    share = weights / total

    def shape_of(t: float) -> float:
        return float(share @ np.log1p(t * excesses))

    def cost(t: float) -> float:
        """Negative mean log-likelihood."""
        if abs(t * mean) < NEARLY_EXPONENTIAL:
            return log(mean) + 1.0
        shape = shape_of(t)
        return log(shape / t) + shape + 1.0

    # t > -1 / max keeps every excess inside the support; at the end itself the likelihood has
    # no bound (the support shrinks onto the largest value), so the scan stops short of shape -1.
    lowest = -1.0 / float(excesses.max())
    scan = np.concatenate(
        [lowest * (1.0 - np.geomspace(1e-4, 1.0, 24)), np.geomspace(1e-3, 20.0, 24) / mean]
    )
    costs = [cost(t) if shape_of(t) > -1.0 else np.inf for t in scan]
    best = int(np.argmin(costs))
    low, high = float(scan[max(best - 1, 0)]), float(scan[min(best + 1, scan.size - 1)])
    ratio = (5.0**0.5 - 1.0) / 2.0
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    cost_left, cost_right = cost(left), cost(right)
    for _ in range(40):
        if cost_left < cost_right:
            high, right, cost_right = right, left, cost_left
            left = high - ratio * (high - low)
            cost_left = cost(left)
        else:
            low, left, cost_left = left, right, cost_right
            right = low + ratio * (high - low)
            cost_right = cost(right)
    t = (low + high) / 2.0
    if abs(t * mean) < NEARLY_EXPONENTIAL:
        return mean, 0.0
    shape = shape_of(t)
    return shape / t, shape
