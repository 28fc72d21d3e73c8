"""Two ways to find the rows that can decide a search, both exact: a matrix product and faiss.

Measured on one x86 core (median, 512 numbers): the product of a matrix whose columns are
contiguous takes half the time of one whose rows are; from about 10,000 templates faiss is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edgefaced.core.matching import contenders
from edgefaced.errors import DependencyMissing
from edgefaced.gallery.matrix import Order
from edgefaced.types import F32

IndexKind = Literal["auto", "exact", "faiss"]

FAISS_WINS_AT_NUMBERS = 10_000 * 512
"""Numbers in the matrix from which faiss scans faster than a product."""

FIRST_NEIGHBOURS = 16


@dataclass(frozen=True, slots=True)
class Scan:
    """`run(vectors, probe, owners, error)`: the rows that may hold best person or runner-up.

    `order` is the memory order in which `vectors` are scanned fastest.
    """

    name: Literal["exact", "faiss"]
    order: Order
    run: Callable[[F32, F32, NDArray[np.intp], float], NDArray[np.intp]]


def choose_scan(kind: IndexKind, numbers: int) -> Scan:
    """The scan of that kind for a matrix of so many numbers.

    Raises DependencyMissing for "faiss" without the package; "auto" does without it then.
    """
    if kind == "exact" or (kind == "auto" and numbers < FAISS_WINS_AT_NUMBERS):
        return BY_PRODUCT
    try:
        return by_faiss()
    except DependencyMissing:
        if kind == "faiss":
            raise
        return BY_PRODUCT


def by_product(
    vectors: F32, probe: F32, owners: NDArray[np.intp], error: float
) -> NDArray[np.intp]:
    """Scores every row by one matrix product."""
    return contenders(vectors @ probe, owners, error)


BY_PRODUCT = Scan("exact", "F", by_product)


def by_faiss() -> Scan:
    """Scores every row by faiss, widening the neighbours until nobody else can matter."""
    try:
        import faiss
    except ImportError:
        raise DependencyMissing(
            "the faiss index needs the package faiss-cpu", "pip install 'edgefaced[faiss]'"
        ) from None

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

    return Scan("faiss", "C", run)
