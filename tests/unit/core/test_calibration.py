"""From FMR to a threshold: interpolation, the formula for galleries, and what is said of doubt."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.calibration import (
    Basis,
    Knot,
    ScoreCalibration,
    choose_threshold,
    fixed_threshold,
    fmr_for_fpir,
    fpir_for_fmr,
    upper_count,
)
from edgefaced.core.tail import ParetoTail

KNOTS = (
    Knot(0.1, 0.3, 0.32),
    Knot(0.2, 0.03, 0.033),
    Knot(0.3, 1e-3, 1.2e-3),
    Knot(0.4, 1e-5, 1.5e-5),
)
CALIBRATION = ScoreCalibration(
    knots=KNOTS,
    tail=ParetoTail(0.3, 1e-3, 0.0217, 0.0),
    tail_upper=ParetoTail(0.3, 1.2e-3, 0.0228, 0.0),
    identities=1_000,
    comparisons=10_000_000,
)


def test_knots_are_met_and_the_line_between_them_is_logarithmic() -> None:
    for knot in KNOTS:
        assert CALIBRATION.fmr(knot.score) == pytest.approx(knot.fmr, rel=1e-6)
        assert CALIBRATION.fmr_upper(knot.score) == pytest.approx(knot.fmr_upper, rel=1e-6)
    assert CALIBRATION.fmr(0.35) == pytest.approx((1e-3 * 1e-5) ** 0.5)


def test_nothing_is_promised_below_the_first_knot_or_of_no_number() -> None:
    for score in (-1.0, 0.0999, float("nan")):
        assert CALIBRATION.fmr(score) == CALIBRATION.fmr_upper(score) == 1.0


def test_tail_never_rises_above_the_last_knot() -> None:
    high = dataclasses.replace(CALIBRATION, tail=ParetoTail(0.3, 1e-3, 0.5, 0.0))
    assert high.fmr(0.41) == 1e-5
    assert CALIBRATION.fmr(0.5) == pytest.approx(1e-3 * 2.718281828 ** (-0.2 / 0.0217))


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_rates_never_rise_with_the_score(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert CALIBRATION.fmr(low) >= CALIBRATION.fmr(high)
    assert CALIBRATION.fmr_upper(low) >= CALIBRATION.fmr_upper(high)
    assert 0.0 <= CALIBRATION.fmr(high) <= CALIBRATION.fmr_upper(high) <= 1.0


@given(st.floats(1e-12, 0.9), st.booleans())
def test_threshold_is_the_lowest_that_keeps_the_rate(fmr: float, upper: bool) -> None:
    rate = CALIBRATION.fmr_upper if upper else CALIBRATION.fmr
    threshold = CALIBRATION.threshold_for_fmr(fmr, upper=upper)
    assert 0.1 <= threshold <= 1.0
    assert rate(threshold) <= fmr
    if threshold > 0.1:
        assert rate(threshold - 1e-9) > fmr * 0.999


@pytest.mark.parametrize(
    ("knots", "fault"),
    [
        (KNOTS[:1], "two knots"),
        ((KNOTS[1], KNOTS[0]), "ascend"),
        ((KNOTS[0], Knot(1.1, 1e-3, 1e-2)), "at most 1"),
        ((KNOTS[0], Knot(0.2, 0.31, 0.32)), "not rise"),
        ((KNOTS[0], Knot(0.2, 0.1, 0.33)), "not rise"),
        ((KNOTS[0], Knot(0.2, 0.0, 0.1)), "above 0"),
        ((KNOTS[0], Knot(0.2, 0.1, 0.09)), "bound not below"),
    ],
)
def test_what_is_no_calibration_is_refused(knots: tuple[Knot, ...], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        dataclasses.replace(CALIBRATION, knots=knots)


def test_gallery_formula() -> None:
    # The field's example: FMR 1e-4 and 1,000 templates let a stranger in at 9.5 % of attempts.
    assert fpir_for_fmr(1e-4, 1_000) == pytest.approx(0.0952, abs=1e-4)
    assert fpir_for_fmr(1e-15, 10) == pytest.approx(1e-14, rel=1e-9)
    assert fpir_for_fmr(0.3, 1) == pytest.approx(0.3)
    assert fpir_for_fmr(1.0, 5) == 1.0
    # An empty gallery is held to a gallery of one.
    assert fpir_for_fmr(0.3, 0) == pytest.approx(0.3)
    assert fmr_for_fpir(0.3, 0) == pytest.approx(0.3)


@given(st.floats(1e-9, 0.99), st.integers(1, 1_000_000))
def test_gallery_formula_and_its_inverse(fpir: float, size: int) -> None:
    assert fpir_for_fmr(fmr_for_fpir(fpir, size), size) == pytest.approx(fpir, rel=1e-6)


@pytest.mark.parametrize("fpir", [0.0, 1.0, -0.1, float("nan")])
def test_a_target_that_is_no_rate_is_refused(fpir: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        fmr_for_fpir(fpir, 10)


def test_threshold_rises_with_the_gallery_and_rests_on_less() -> None:
    choices = [choose_threshold(CALIBRATION, 1e-3, size) for size in (1, 50, 200, 100_000)]
    assert [c.basis for c in choices] == [
        Basis.MEASURED,
        Basis.MEASURED,
        Basis.FITTED,
        Basis.EXTRAPOLATED,
    ]
    assert [c.extrapolated for c in choices] == [False, False, False, True]
    assert all(a.threshold < b.threshold for a, b in pairwise(choices))
    for choice in choices:
        assert choice.fpir is not None
        assert choice.fpir_upper is not None
        assert choice.fpir <= choice.fpir_upper <= 1e-3 * 1.000001


def test_target_looser_than_anything_measured_takes_the_lowest_score_and_says_so() -> None:
    choice = choose_threshold(CALIBRATION, 0.5, 1)
    assert (choice.threshold, choice.basis, choice.extrapolated) == (0.1, Basis.FLOOR, False)


def test_target_that_no_score_keeps_takes_1_and_says_so() -> None:
    heavy = dataclasses.replace(CALIBRATION, tail_upper=ParetoTail(0.3, 1.2e-3, 0.02, 0.9))
    choice = choose_threshold(heavy, 1e-6, 1_000)
    assert (choice.threshold, choice.basis, choice.extrapolated) == (1.0, Basis.UNREACHABLE, True)
    assert choice.fpir_upper is not None
    assert choice.fpir_upper > 1e-6


def test_fixed_threshold_has_rates_only_with_a_calibration() -> None:
    bare = fixed_threshold(0.3, 10, None)
    assert (bare.threshold, bare.basis, bare.fmr, bare.fpir) == (0.3, Basis.FIXED, None, None)
    assert bare.fpir_upper is None
    known = fixed_threshold(0.3, 10, CALIBRATION)
    assert known.fmr == pytest.approx(1e-3)
    assert known.fpir == pytest.approx(1e-2, rel=0.01)
    assert known.fpir_upper == pytest.approx(1.2e-2, rel=0.01)
    assert not known.extrapolated


def test_resolution_is_the_rule_of_three_and_coarser_where_comparisons_depend() -> None:
    # 100 counted comparisons whose bound is that of 100 independent ones.
    independent = dataclasses.replace(
        CALIBRATION, knots=(*KNOTS[:3], Knot(0.4, 1e-5, 1e-5 * (1 + 1.645 / 10)))
    )
    assert independent.resolution == pytest.approx(3e-7, rel=0.01)
    # The same hundred, worth only four.
    dependent = dataclasses.replace(
        CALIBRATION, knots=(*KNOTS[:3], Knot(0.4, 1e-5, 1e-5 * (1 + 1.645 / 2)))
    )
    assert dependent.resolution == pytest.approx(3e-7 * 25, rel=0.01)


@pytest.mark.parametrize(
    ("count", "exact"), [(0, 2.9957), (1, 4.7439), (4, 9.1535), (100, 118.079), (1_000, 1_053.6)]
)
def test_upper_count_is_the_exact_poisson_bound_within_a_hundredth(
    count: int, exact: float
) -> None:
    assert upper_count(count) == pytest.approx(exact, rel=0.01)
