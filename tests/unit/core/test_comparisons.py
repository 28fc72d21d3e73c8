"""All comparisons of a set: the same as the plain matrix of scores, whatever the block size."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from edgefaced.core import comparisons
from edgefaced.core.comparisons import BINS, EDGES, bin_of, compare_all
from edgefaced.types import F32


def faces(people: int, each: int, *, seed: int = 1) -> tuple[F32, NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    centres = np.repeat(rng.standard_normal((people, 16)), each, axis=0)
    vectors = centres + 0.5 * rng.standard_normal(centres.shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32), np.repeat(np.arange(people), each).astype(np.intp)


@pytest.mark.parametrize("cells", [1, 700, 2_000_000])
def test_blocks_change_nothing(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "CELLS_PER_BLOCK", cells)
    monkeypatch.setattr(comparisons, "TAIL_RESERVE", 40)
    vectors, owners = faces(30, 4)
    shuffled = np.random.default_rng(2).permutation(owners.size)
    vectors, owners = vectors[shuffled], owners[shuffled]

    found = compare_all(vectors, owners)

    matrix = vectors @ vectors.T
    first, second = np.triu_indices(owners.size, 1)
    scores = matrix[first, second]
    same = owners[first] == owners[second]
    assert found.people == 30
    assert found.impostors == np.count_nonzero(~same) == 120 * 119 // 2 - 30 * 6
    np.testing.assert_allclose(np.sort(found.genuine), np.sort(scores[same]), atol=1e-6)
    assert found.genuine_bins.sum() == found.genuine.size
    highest = np.sort(scores[~same])[::-1][: 40 + found.impostors // 1000]
    np.testing.assert_allclose(found.tail.scores, highest, atol=1e-6)
    pairs = matrix[found.tail.first, found.tail.second]
    np.testing.assert_allclose(found.tail.scores, pairs, atol=1e-6)
    assert np.all(owners[found.tail.first] != owners[found.tail.second])
    for person in (0, 7, 29):
        mine = np.where(~same & ((owners[first] == person) | (owners[second] == person)))
        counts, _ = np.histogram(scores[mine].astype(np.float64), EDGES)
        # A score on an edge may fall to either side of it.
        assert np.abs(found.impostor_bins[person] - counts).sum() <= 2
        assert found.impostor_bins[person].sum() == 116 * 4


def test_nobody_and_one_person_have_no_impostors() -> None:
    nothing = compare_all(np.empty((0, 0), dtype=np.float32), np.empty(0, dtype=np.intp))
    assert (nothing.people, nothing.impostors, nothing.genuine.size) == (0, 0, 0)
    assert nothing.tail.scores.size == 0

    vectors, owners = faces(1, 3)
    alone = compare_all(vectors, owners)
    assert (alone.impostors, alone.genuine.size, alone.tail.scores.size) == (0, 3, 0)


def test_rounding_beyond_one_is_counted_at_the_end() -> None:
    scores = np.array([-1.0000002, -1.0, 0.0, 0.999, 1.0, 1.0000002], dtype=np.float32)
    assert bin_of(scores).tolist() == [0, 0, BINS // 2, BINS - 1, BINS - 1, BINS - 1]
