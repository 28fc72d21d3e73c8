"""Medians and ratios of measured times."""

import pytest

from edgefaced.benchmark.spread import Ratio, Spread, ratio, spread


def test_spread_is_median_and_95_percent() -> None:
    assert spread([float(t) for t in range(1, 102)]) == Spread(n=101, p50_ms=51, p95_ms=96)


def test_nothing_measured_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        spread([])


def test_ratio_of_medians_and_of_pairs_differ_where_a_slow_moment_hits_both() -> None:
    # The third pair ran in a slow moment, and both took ten times as long.
    assert ratio([1, 1, 10], [2, 4, 30]) == Ratio(n=3, of_medians=4, median=3, lower=2.5, upper=3.5)


@pytest.mark.parametrize(("ours", "theirs"), [([1.0], [1.0, 2.0]), ([], [])])
def test_times_that_do_not_pair_are_an_error(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(ValueError, match="do not pair"):
        ratio(ours, theirs)
