"""Every picture against every other, in bounded memory: counts per person and the exact tail.

All pairs of n pictures do not fit in memory for long (7,701 pictures make 29.6 million), and most
of them only need counting. What is kept: all genuine scores, a histogram of impostor scores per
person (a bootstrap over people needs no more), and the highest impostor scores one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F32, F64

Indices = NDArray[np.intp]
Counts = NDArray[np.int64]

BINS = 200
"""Steps of 0.01 from -1 to 1; bin b holds scores in [edge b, edge b + 1)."""
EDGES: F64 = np.round(np.linspace(-1.0, 1.0, BINS + 1), 2)

CELLS_PER_BLOCK = 2_000_000
TAIL_RESERVE = 10_000
TAIL_SHARE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """The highest impostor scores, descending, and the two pictures behind each."""

    scores: F32
    first: Indices
    second: Indices


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """All comparisons of a set of pictures.

    `owners` (n,) is each picture's person, 0..people-1. `impostor_bins` (people, BINS) counts each
    impostor comparison twice, once for either person; `genuine_bins` (BINS,) counts once.
    """

    people: int
    owners: Indices
    genuine: F32
    genuine_bins: Counts
    impostor_bins: Counts
    tail: Tail

    @property
    def impostors(self) -> int:
        """Number of impostor comparisons."""
        return int(self.impostor_bins.sum()) // 2


def compare_all(vectors: F32, owners: Indices) -> Comparisons:
    """Compares unit vectors (n, d) with each other; the persons of `owners` are 0..people-1.

    The exact tail holds a thousandth of the impostor comparisons and 10,000 more, so that FMR 1e-3
    can be read from it also without those that turn out to be suspect.
    """
    people = int(owners.max()) + 1 if owners.size else 0
    per_person = np.bincount(owners, minlength=people).astype(np.int64)
    impostors = (owners.size**2 - int((per_person**2).sum())) // 2
    keep = min(impostors, int(impostors * TAIL_SHARE) + TAIL_RESERVE)
    impostor_bins = np.zeros((people, BINS), dtype=np.int64)
    genuine: list[F32] = []
    tail = _TailBuffer(keep)
    rows = max(1, CELLS_PER_BLOCK // max(1, owners.size))
    columns = np.arange(owners.size)
    for start in range(0, owners.size, rows):
        block = slice(start, start + rows)
        scores = vectors[block] @ vectors.T
        other = owners[block, np.newaxis] != owners
        later = columns > columns[block, np.newaxis]
        bins = bin_of(scores)
        for row, owner in enumerate(owners[block]):
            impostor_bins[owner] += np.bincount(bins[row, other[row]], minlength=BINS)
        genuine.append(scores[later & ~other])
        tail.add(scores, later & other, start)
    found = np.concatenate(genuine) if genuine else np.empty(0, dtype=np.float32)
    return Comparisons(
        people=people,
        owners=owners,
        genuine=found,
        genuine_bins=np.bincount(bin_of(found), minlength=BINS).astype(np.int64),
        impostor_bins=impostor_bins,
        tail=tail.finish(),
    )


def bin_of(scores: F32) -> Indices:
    """Histogram bin of each score; what rounding puts outside -1..1 counts at the end."""
    steps = np.floor((scores + 1.0) * (BINS / 2))
    return np.asarray(np.clip(steps, 0, BINS - 1), dtype=np.intp)


class _TailBuffer:
    """The `keep` highest scores of a stream of blocks, in memory for three times that many."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._floor = -np.inf
        self._parts: list[tuple[F32, Indices, Indices]] = []
        self._held = 0

    def add(self, scores: F32, wanted: NDArray[np.bool_], first_row: int) -> None:
        rows, columns = np.nonzero(wanted & (scores > self._floor))
        self._parts.append((scores[rows, columns], rows + first_row, columns))
        self._held += rows.size
        if self._held > 2 * self._keep:
            self._shrink()

    def _shrink(self) -> None:
        scores, first, second = self._joined()
        if scores.size > self._keep:
            best = np.argpartition(scores, scores.size - self._keep)[scores.size - self._keep :]
            scores, first, second = scores[best], first[best], second[best]
            self._floor = float(scores.min(initial=np.inf))
        self._parts, self._held = [(scores, first, second)], scores.size

    def _joined(self) -> tuple[F32, Indices, Indices]:
        scores, first, second = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return scores, first, second

    def finish(self) -> Tail:
        if not self._parts:
            nobody = np.empty(0, dtype=np.intp)
            return Tail(np.empty(0, dtype=np.float32), nobody, nobody)
        self._shrink()
        scores, first, second = self._parts[0]
        order = np.argsort(-scores, kind="stable")
        return Tail(scores[order], first[order], second[order])
