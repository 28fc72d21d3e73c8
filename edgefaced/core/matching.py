"""Who a probe is: the best person and the best other person, exactly.

A scan in float32 (by numpy or faiss) finds the rows that could decide, within the scan's
error bound; these few are scored again in float64, row by row. So the answer does not depend on
the order of the rows, on a vector unit or on which scan was used.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from math import inf, isnan

import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F32, F64, Candidate, Match

Indices = NDArray[np.intp]


def best_match(scores: F32 | F64, owners: Indices, ids: Sequence[str]) -> Match | None:
    """The person of the highest score and the best other person; None without a score.

    `scores` (n,), `owners` (n,) positions in `ids`. A person counts once, by the best template.
    NaN never matches. Of equal scores the person with the smaller id comes first.
    """
    # The few rows that are left: Python's own loop costs less than a handful of numpy calls, most
    # of all right after a network has emptied the caches.
    best: dict[int, float] = {}
    for owner, score in zip(owners.tolist(), scores.tolist(), strict=True):
        if score > best.get(owner, -inf):  # NaN is not
            best[owner] = score
    ranked = nsmallest(2, best, key=lambda owner: (-best[owner], ids[owner]))
    if not ranked:
        return None
    first, *others = (Candidate(ids[owner], best[owner]) for owner in ranked)
    return Match(best=first, runner_up=others[0] if others else None)


def scan_error(dimension: int) -> float:
    """Bound on how far a float32 dot product of two unit vectors is off, in any order of sums.

    n·u/(1 - n·u) with u = 2⁻²⁴ bounds the error relative to the sum of |xᵢyᵢ|, which is 1 at most
    for unit vectors (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); doubled
    for vectors that are a little longer than 1.
    """
    n_u = dimension * 2.0**-24
    return 2 * n_u / (1 - n_u)


def scan_scores(rows: F32, probe: F32) -> F32:
    """Float32 score of each row (n, d), within `scan_error` of the exact one, on one core.

    A product by BLAS would wake threads for a millisecond's work; where the cores are busy, as
    those of a running door are, waiting for them took twenty times as long as the product.
    """
    # NumPy 1 has no vecdot; einsum is as exact and half as fast.
    scores: F32 = (
        np.vecdot(rows, probe) if hasattr(np, "vecdot") else np.einsum("ij,j->i", rows, probe)
    )
    return scores


def contenders(scores: F32, owners: Indices, error: float) -> Indices:
    """Rows that may hold the best or the runner-up person when each score is off by `error`."""
    if scores.size == 0:
        return np.empty(0, np.intp)
    best = int(scores.argmax())
    if isnan(scores[best]):  # argmax finds NaN first
        scores = np.where(np.isnan(scores), np.float32(-inf), scores)
        best = int(scores.argmax())
    others = scores[owners != owners[best]]
    # With one person only: the rows that may be this person's best.
    floor = float(others.max() if others.size else scores[best])
    return np.flatnonzero(scores >= floor - 2 * error)


def exact_scores(rows: F32, probe: F32) -> F64:
    """Cosine of each unit row (k, d) with a unit probe (d,), the same for a row wherever it is."""
    products = np.multiply(rows, probe, dtype=np.float64, order="C")
    # A sum along contiguous memory adds each row in the same order, unlike a matrix product.
    sums: F64 = np.add.reduce(products, axis=1)
    return np.clip(sums, -1.0, 1.0, out=sums)
