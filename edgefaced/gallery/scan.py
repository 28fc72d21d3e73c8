"""Two ways to find the rows that can decide a search, both exact: numpy and faiss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edgefaced.core.matching import contenders, scan_scores
from edgefaced.errors import DependencyMissing, extra
from edgefaced.types import F32

IndexKind = Literal["auto", "exact", "faiss"]

FAISS_WINS_AT_ROWS = 10_000
"""Templates from which a search by faiss takes less time: on one x86 core a quarter less with 128
numbers (0.15 against 0.19 ms for 10,000), the same with 512 (0.43 ms), where memory is the limit.
"""

FIRST_NEIGHBOURS = 16


@dataclass(frozen=True, slots=True)
class Scan:
    """`run(vectors, probe, owners, error)`: the rows that may hold best person or runner-up."""

    name: Literal["exact", "faiss"]
    run: Callable[[F32, F32, NDArray[np.intp], float], NDArray[np.intp]]


def choose_scan(kind: IndexKind, rows: int) -> Scan:
    """The scan of that kind for so many templates.

    Raises DependencyMissing for "faiss" without the package; "auto" does without it then.
    """
    if kind == "exact" or (kind == "auto" and rows < FAISS_WINS_AT_ROWS):
        return BY_NUMPY
    try:
        return by_faiss()
    except DependencyMissing:
        if kind == "faiss":
            raise
        return BY_NUMPY


def by_numpy(vectors: F32, probe: F32, owners: NDArray[np.intp], error: float) -> NDArray[np.intp]:
    """Scores every row, then keeps the few that matter."""
    return contenders(scan_scores(vectors, probe), owners, error)


BY_NUMPY = Scan("exact", by_numpy)


def by_faiss() -> Scan:
    """Scores every row by faiss, widening the neighbours until nobody else can matter."""
    try:
        import faiss
    except ImportError:
        raise DependencyMissing(
            "the faiss index needs the package faiss-cpu", extra("faiss")
        ) from None
    faiss.omp_set_num_threads(1)  # one probe at a time: more threads only wait for each other

    def run(vectors: F32, probe: F32, owners: NDArray[np.intp], error: float) -> NDArray[np.intp]:
        k = min(FIRST_NEIGHBOURS, len(vectors))
        while True:
            # Flat search of our own memory: no second copy of the templates to keep and to wipe.
            scores, rows = faiss.knn(probe[None], vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
            near = owners[rows[0]]
            found = contenders(scores[0], near, error)
            # Rows beyond the k-th score no higher: when it is no contender, none of them is.
            if k == len(vectors) or (len(found) < k and (near != near[0]).any()):
                return np.asarray(rows[0][found], np.intp)
            k = min(4 * k, len(vectors))

    return Scan("faiss", run)
