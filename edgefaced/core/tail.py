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
END = 1.001
"""No tail ends before: a cosine reaches 1, and rounding takes equal pictures a little beyond."""


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


def fit_excesses(excesses: F64, weights: F64, room: float) -> tuple[float, float]:
    """Scale and shape of greatest likelihood for weighted `excesses` over a start, 0 to `room`.

    Only tails that reach `room` compete: shape / scale >= -1 / room. With t = shape / scale given,
    the best shape is the mean of log(1 + t * excess), so one number is searched (Grimshaw,
    Technometrics 35, 1993): a coarse scan, then a golden section.
    """
    total = float(weights.sum())
    mean = float(weights @ excesses) / total
    share = weights / total

    def best_for(t: float) -> tuple[float, float]:
        t = t or NEARLY_EXPONENTIAL  # 0 is the exponential's limit
        shape = float(share @ np.log1p(t * excesses))
        return shape / t, shape

    def cost(t: float) -> float:
        """Negative mean log-likelihood."""
        scale, shape = best_for(t)
        return log(scale) + shape + 1.0

    scan = np.concatenate(
        [np.geomspace(-1.0, -1e-3, 24) / room, np.geomspace(1e-3, 20.0, 24) / mean]
    )
    costs = [cost(t) for t in scan]
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
    return best_for((low + high) / 2.0)
