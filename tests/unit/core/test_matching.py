"""Matching: best person and best other person, against a plain search in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from edgefaced.core.matching import best_match, contenders, exact_scores, scan_error, scan_scores
from edgefaced.types import F32, Match

NAN = float("nan")
IDS = ("ann", "bob", "cat", "dan")


def match(scores: list[float], owners: list[int]) -> Match | None:
    return best_match(np.array(scores, np.float32), np.array(owners, np.intp), IDS)


def summary(found: Match | None) -> tuple[str, float, str | None] | None:
    if found is None:
        return None
    second = None if found.runner_up is None else found.runner_up.person_id
    return found.best.person_id, found.best.score, second


@pytest.mark.parametrize(
    ("scores", "owners", "expected"),
    [
        ([], [], None),
        ([0.5], [2], ("cat", 0.5, None)),
        ([0.25, 0.5], [0, 1], ("bob", 0.5, "ann")),
        # Ten templates of one person do not outweigh one better template of another.
        ([0.5] * 10 + [0.75], [0] * 10 + [1], ("bob", 0.75, "ann")),
        # The runner-up is another person, not the same person's second template.
        ([0.75, 0.625, 0.5], [0, 0, 1], ("ann", 0.75, "bob")),
        ([0.75, 0.75], [1, 1], ("bob", 0.75, None)),
        # Equal scores: the smaller id first, whatever the order of the rows.
        ([0.5, 0.5, 0.5], [3, 2, 1], ("bob", 0.5, "cat")),
        ([NAN, 0.25], [0, 1], ("bob", 0.25, None)),
        ([NAN, 0.25, NAN, 0.125], [0, 0, 1, 1], ("ann", 0.25, "bob")),
        ([NAN, NAN], [0, 1], None),
        ([-math.inf, 0.25], [0, 1], ("bob", 0.25, None)),
        ([-1.0, -0.5], [0, 1], ("bob", -0.5, "ann")),
    ],
)
def test_best_and_runner_up(
    scores: list[float], owners: list[int], expected: tuple[str, float, str | None] | None
) -> None:
    assert summary(match(scores, owners)) == expected


def test_the_margin_is_to_another_person() -> None:
    found = match([0.75, 0.7, 0.5], [0, 0, 1])
    assert found is not None
    assert found.margin == 0.25
    assert found.runner_up is not None
    assert found.runner_up.score == 0.5
    alone = match([0.75], [0])
    assert alone is not None
    assert alone.margin == math.inf


@given(
    st.lists(st.tuples(st.floats(-1, 1, width=32) | st.just(NAN), st.integers(0, 3)), max_size=30),
    st.randoms(use_true_random=False),
)
def test_as_a_plain_search_in_any_order(rows: list[tuple[float, int]], random: Random) -> None:
    best: dict[str, float] = {}
    for score, owner in rows:
        if not math.isnan(score):
            best[IDS[owner]] = max(score, best.get(IDS[owner], -math.inf))
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    expected = None
    if ranked:
        expected = (*ranked[0], ranked[1][0] if len(ranked) > 1 else None)
    random.shuffle(rows)
    assert summary(match([s for s, _ in rows], [o for _, o in rows])) == expected


def unit_rows(seed: int, count: int, dimension: int) -> F32:
    rows = np.random.default_rng(seed).standard_normal((count, dimension))
    unit: F32 = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.mark.parametrize("dimension", [16, 128, 512])
def test_a_row_scores_the_same_wherever_it_is(dimension: int) -> None:
    rows = unit_rows(1, 50, dimension)
    probe = rows[7]
    together = exact_scores(rows, probe)
    for order in (np.arange(50)[::-1], np.random.default_rng(0).permutation(50)):
        np.testing.assert_array_equal(exact_scores(rows[order], probe), together[order])
        by_columns = np.asfortranarray(rows)[order]
        np.testing.assert_array_equal(exact_scores(by_columns, probe), together[order])
    for row in range(50):
        assert exact_scores(rows[row : row + 1], probe)[0] == together[row]
    assert exact_scores(rows[:0], probe).shape == (0,)


def test_scores_are_the_cosines() -> None:
    rows = unit_rows(2, 5, 64)
    for row, score in zip(rows, exact_scores(rows, rows[0]), strict=True):
        true = sum(
            Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, rows[0], strict=True)
        )
        assert abs(float(true) - score) < 1e-15 or abs(score) == 1.0
    assert exact_scores(rows * np.float32(1.0005), rows[0])[0] == 1.0, "never above 1"


@pytest.mark.parametrize("numpy_1", [False, True])
@pytest.mark.parametrize("dimension", [16, 128, 512, 4096])
def test_a_float32_scan_stays_within_the_bound(
    dimension: int, numpy_1: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if numpy_1:
        monkeypatch.delattr(np, "vecdot", raising=False)
    rows, probe = unit_rows(3, 200, dimension), unit_rows(4, 1, dimension)[0]
    scanned = scan_scores(rows, probe)
    assert scanned.dtype == np.float32
    assert np.abs(scanned - exact_scores(rows, probe)).max() <= scan_error(dimension)
    # Also added up one by one, the worst order there is.
    one_by_one = np.cumsum(rows * probe, axis=1, dtype=np.float32)[:, -1]
    assert np.abs(one_by_one - exact_scores(rows, probe)).max() <= scan_error(dimension)


@given(
    st.lists(
        st.tuples(st.floats(-1, 1, width=32), st.integers(0, 3), st.floats(-1, 1)),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([0.0, 1e-4, 0.01, 0.3]),
)
def test_nobody_who_could_decide_is_left_out(
    rows: list[tuple[float, int, float]], error: float
) -> None:
    true = np.array([score for score, _, _ in rows])
    owners: NDArray[np.intp] = np.array([owner for _, owner, _ in rows], np.intp)
    # Any scan whose scores are off by less than `error` must keep the rows that decide.
    noise = np.array([off for _, _, off in rows]) * error * 0.99
    found = contenders((true + noise).astype(np.float32), owners, error)
    assert best_match(true[found], owners[found], IDS) == best_match(true, owners, IDS)


def test_contenders_of_nothing_and_of_nan() -> None:
    nobody = np.empty(0, np.intp)
    assert contenders(np.empty(0, np.float32), nobody, 0.1).size == 0
    scores = np.array([NAN, 0.5, 0.25], np.float32)
    owners = np.array([0, 1, 2], np.intp)
    np.testing.assert_array_equal(contenders(scores, owners, 1e-3), [1, 2])
    assert best_match(scores[:1], owners[:1], IDS) is None
