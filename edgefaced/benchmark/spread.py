"""What is said of measured times: medians, never a best case; ratios of runs taken in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """`n` times in milliseconds: their median and the time that 95 % of them stay below."""

    n: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times longer the other takes, from `n` pairs that were measured side by side.

    `of_medians` compares the medians; `median` is that of the pairs' own ratios, half of which lie
    between `lower` and `upper` (quartiles): a slow moment hits both of a pair.
    """

    n: int
    of_medians: float
    median: float
    lower: float
    upper: float


def spread(times_ms: Sequence[float]) -> Spread:
    """Raises ValueError without a time."""
    if not times_ms:
        raise ValueError("nothing was measured")
    return Spread(
        n=len(times_ms),
        p50_ms=float(np.median(times_ms)),
        p95_ms=float(np.percentile(times_ms, 95)),
    )


def ratio(ours_ms: Sequence[float], theirs_ms: Sequence[float]) -> Ratio:
    """Theirs to ours; pair i is `ours_ms[i]` and `theirs_ms[i]`. ValueError for unpaired times."""
    if len(ours_ms) != len(theirs_ms) or not ours_ms:
        raise ValueError(f"{len(ours_ms)} and {len(theirs_ms)} times do not pair")
    pairs = np.asarray(theirs_ms, np.float64) / np.asarray(ours_ms, np.float64)
    lower, median, upper = np.percentile(pairs, [25, 50, 75])
    return Ratio(
        n=len(pairs),
        of_medians=float(np.median(theirs_ms) / np.median(ours_ms)),
        median=float(median),
        lower=float(lower),
        upper=float(upper),
    )
