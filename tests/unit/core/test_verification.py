"""Error rates from scores: against counting, and against scores whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.verification import (
    best_threshold,
    equal_error_rate,
    fold_accuracy,
    operating_point,
    roc,
)

# Few distinct values, so that ties are the rule.
scores = st.lists(st.integers(-5, 5).map(lambda n: n / 5), min_size=1, max_size=30)


@given(genuine=scores, impostor=scores)
def test_roc_counts(genuine: list[float], impostor: list[float]) -> None:
    curve = roc(np.array(genuine), np.array(impostor))
    for threshold, fmr, fnmr in zip(curve.thresholds, curve.fmr, curve.fnmr, strict=True):
        assert fmr == pytest.approx(sum(s >= threshold for s in impostor) / len(impostor))
        assert fnmr == pytest.approx(sum(s < threshold for s in genuine) / len(genuine))
    assert curve.fmr[0] == 1.0
    assert curve.fnmr[-1] == 1.0


@given(genuine=scores, impostor=scores)
def test_equal_error_rate_lies_between_its_neighbours(
    genuine: list[float], impostor: list[float]
) -> None:
    curve = roc(np.array(genuine), np.array(impostor))
    rate = equal_error_rate(curve)
    worst = np.maximum(curve.fmr, curve.fnmr)
    assert 0.0 <= rate <= worst.min() + 1e-12


def test_equal_error_rate_of_known_scores() -> None:
    apart = roc(np.array([0.8, 0.9]), np.array([0.1, 0.2]))
    assert equal_error_rate(apart) == 0.0
    crossed = roc(np.array([0.1, 0.7, 0.8, 0.9]), np.array([0.0, 0.2, 0.3, 0.75]))
    assert equal_error_rate(crossed) == pytest.approx(0.25)
    # N(1, 1) against N(-1, 1) errs at the normal distribution's tail beyond 1.
    rng = np.random.default_rng(3)
    normal = roc(rng.normal(1, 1, 40_000), rng.normal(-1, 1, 40_000))
    assert equal_error_rate(normal) == pytest.approx(0.1587, abs=0.003)


def test_roc_needs_both_kinds() -> None:
    with pytest.raises(ValueError, match="genuine and impostor"):
        roc(np.empty(0), np.array([0.1]))


@given(genuine=scores, impostor=scores, wanted=st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5]))
def test_operating_point_is_the_lowest_threshold_that_keeps_the_rate(
    genuine: list[float], impostor: list[float], wanted: float
) -> None:
    highest = np.sort(np.array(impostor))[::-1]
    point = operating_point(np.array(genuine), highest, len(impostor), wanted)
    allowed = wanted * len(impostor) + 1e-9
    assert np.count_nonzero(highest >= point.threshold) <= allowed
    just_below = np.nextafter(point.threshold, -np.inf)
    assert np.count_nonzero(highest >= just_below) > allowed
    missed = sum(s < point.threshold for s in genuine) / len(genuine)
    assert point.fnmr == pytest.approx(missed)
    assert point.tar == pytest.approx(1 - missed)


def test_operating_point_reads_the_highest_scores_only() -> None:
    highest = np.array([0.9, 0.8, 0.7, 0.6])
    point = operating_point(np.array([0.75, 0.95]), highest, 3_000, 1e-3)
    assert 0.6 < point.threshold < 0.6 + 1e-12
    assert point.fnmr == 0.0
    with pytest.raises(ValueError, match="needs the 5 highest"):
        operating_point(np.array([0.5]), highest, 4_000, 1e-3)


def brute_force_accuracy(scores: list[float], same: list[bool]) -> float:
    candidates = [-9.0, *(s + d for s in scores for d in (-0.01, 0.01)), 9.0]
    return max(
        sum((s >= t) == g for s, g in zip(scores, same, strict=True)) / len(scores)
        for t in candidates
    )


@given(pairs=st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=25))
def test_best_threshold_has_the_best_accuracy(pairs: list[tuple[int, bool]]) -> None:
    values, same = [n / 5 for n, _ in pairs], [g for _, g in pairs]
    threshold = best_threshold(np.array(values), np.array(same))
    right = np.mean((np.array(values) >= threshold) == np.array(same))
    assert right == pytest.approx(brute_force_accuracy(values, same))


def test_folds_are_judged_by_the_others_threshold() -> None:
    # Fold 1 alone would choose 0.55 and be right four times; fold 0 chooses 0.25 for it.
    scores = np.array([0.3, 0.4, 0.1, 0.2, 0.6, 0.7, 0.3, 0.5])
    same = np.array([True, True, False, False] * 2)
    folds = np.array([0] * 4 + [1] * 4)
    result = fold_accuracy(scores, same, folds)
    assert list(result.thresholds) == pytest.approx([0.55, 0.25])
    assert result.folds == (0.5, 0.5)
    assert result.mean == 0.5
    assert result.deviation == 0.0


def test_deviation_is_that_of_a_sample() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(0, 1, 600) + np.tile([0.8, -0.8], 300)
    result = fold_accuracy(scores, np.tile([True, False], 300), np.repeat(np.arange(10), 60))
    assert result.deviation == pytest.approx(np.std(result.folds) * np.sqrt(10 / 9))
    assert result.mean == pytest.approx(0.79, abs=0.05)  # N(0.8, 1) lies above 0 so often
