"""Calibration of simulated people whose false match rate is known, with and without wrong labels.

Embeddings that point anywhere alike have cosines whose tail is an integral; several pictures of a
person make them depend on each other, and a direction that some people share makes people differ.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from edgefaced.core.calibration import ScoreCalibration
from edgefaced.core.comparisons import Comparisons, compare_all
from edgefaced.core.impostors import calibrate
from edgefaced.core.peaks import LEAST_COMPARISONS, LEAST_PEOPLE, enough
from edgefaced.core.suspects import Suspects, find_suspects
from edgefaced.types import F32, F64

DIMENSION = 64
WITHIN = 0.6


def vectors_of(
    people: int, each: int, rng: np.random.Generator, tilt: float = 1.0
) -> tuple[F32, NDArray[np.intp]]:
    """With `tilt` above 1 people differ in how much they resemble everybody else."""
    centres = rng.standard_normal((people, DIMENSION))
    centres[:, 0] *= tilt
    vectors = np.repeat(centres, each, axis=0)
    vectors += WITHIN * rng.standard_normal(vectors.shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32), np.repeat(np.arange(people), each).astype(np.intp)


def simulate(people: int, each: int, seed: int, tilt: float = 1.0) -> Comparisons:
    return compare_all(*vectors_of(people, each, np.random.default_rng(seed), tilt))


def score_of_true_fmr(rates: tuple[float, ...]) -> F64:
    """Scores that independent directions exceed so often, by integrating their density."""
    score = np.linspace(0.0, 1.0, 200_001)
    density = (1.0 - score**2) ** ((DIMENSION - 3) / 2)
    beyond = np.cumsum(density[::-1])[::-1]
    return np.interp(np.log(rates), np.log(0.5 * beyond[:-1] / beyond[0])[::-1], score[:-1][::-1])


def sampled_scores(tilt: float, rates: tuple[float, ...]) -> F64:
    """The same by drawing 36 million pairs of people."""
    rng = np.random.default_rng(99)
    scores = [
        (vectors_of(1_500, 1, rng, tilt)[0] @ vectors_of(1_500, 1, rng, tilt)[0].T).ravel()
        for _ in range(16)
    ]
    return np.quantile(np.concatenate(scores), 1.0 - np.array(rates))


def coverage(
    rates: tuple[float, ...], scores: F64, people: int, each: int, tilt: float, runs: int
) -> tuple[F64, F64]:
    """Share of simulations whose bound holds at each score, and the median of bound by truth."""
    bounds = np.zeros((runs, len(rates)))
    for run in range(runs):
        calibration = calibrate(simulate(people, each, seed=run, tilt=tilt), replicates=40)
        bounds[run] = [calibration.fmr_upper(score) for score in scores]
    return np.mean(bounds >= rates, axis=0), np.median(bounds / rates, axis=0)


@pytest.mark.slow
def test_bound_holds_in_95_of_100_simulations_and_is_not_idle() -> None:
    rates = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    held, above = coverage(rates, score_of_true_fmr(rates), people=150, each=3, tilt=1.0, runs=100)
    assert np.all(held >= 0.95 - 2 * 0.022), held  # two standard errors of 100 runs
    assert np.all(above[:3] < [1.1, 1.2, 1.6]), above
    assert np.all(above[3:] < [4.0, 8.0, 20.0]), above


@pytest.mark.slow
def test_bound_holds_where_some_people_resemble_everybody() -> None:
    # Comparisons taken for independent would give bounds that hold in half of the runs or less.
    rates = (1e-1, 1e-2, 1e-3, 1e-4)
    held, above = coverage(
        rates, sampled_scores(3.0, rates), people=300, each=2, tilt=3.0, runs=100
    )
    assert np.all(held >= 0.95 - 3 * 0.022), held
    assert np.all(above < [1.2, 1.5, 2.0, 4.0]), above


def test_estimate_is_near_the_truth() -> None:
    rates = np.array([1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
    scores = score_of_true_fmr(tuple(rates))
    calibrations = [calibrate(simulate(300, 2, seed), replicates=2) for seed in range(20)]
    found = np.array([[c.fmr(score) for score in scores] for c in calibrations])
    # Geometric mean over simulations: within 3 % where counted; beyond, too high rather than low,
    # because the fit holds score 1 possible.
    bias = np.exp(np.mean(np.log(found / rates), axis=0))
    assert np.all(np.abs(bias[:3] - 1.0) < 0.03), bias
    assert np.all((bias[3:] > 0.9) & (bias[3:] < [1.7, 3.0])), bias


def test_calibration_says_what_it_rests_on() -> None:
    calibration = calibrate(simulate(500, 2, seed=3), replicates=2)
    assert calibration.identities == 500
    assert calibration.comparisons == 500 * 499 // 2 * 4
    assert 10 <= len(calibration.knots) <= 25
    assert calibration.knots[0].fmr <= 0.5
    assert calibration.knots[-1].fmr * calibration.comparisons >= 100


def test_bound_reaches_score_1_and_stays_above_the_estimate() -> None:
    calibration = calibrate(simulate(200, 2, seed=4), replicates=80)
    assert calibration.tail_upper.fmr(0.999) > 0.0
    for score in np.linspace(calibration.knots[0].score, 1.0, 200):
        assert calibration.fmr_upper(score) >= calibration.fmr(score)


def test_same_comparisons_give_the_same_calibration() -> None:
    comparisons = simulate(120, 2, seed=5)
    assert calibrate(comparisons, replicates=20) == calibrate(comparisons, replicates=20)


def mislabelled(pairs: int, seed: int) -> Comparisons:
    """`pairs` people each appear under a second name, too."""
    vectors, owners = vectors_of(300, 3, np.random.default_rng(seed))
    owners = owners.copy()
    for person in range(pairs):
        owners[3 * person + 2] = 300 + person  # one of three pictures moves to a new name
    return compare_all(vectors, owners)


def exceeds(calibration: ScoreCalibration, rate: float) -> float:
    return calibration.threshold_for_fmr(rate, upper=True)


def test_people_under_two_names_are_found_and_do_not_fool_the_tail() -> None:
    clean, dirty = simulate(300, 3, seed=6), mislabelled(12, seed=6)

    suspects = find_suspects(dirty)

    found = {
        (int(dirty.owners[p.first_picture]), int(dirty.owners[p.second_picture]))
        for p in suspects.pairs
    }
    assert {tuple(sorted(pair)) for pair in found} == {(i, 300 + i) for i in range(12)}
    assert suspects.comparisons == sum(pair.comparisons for pair in suspects.pairs) == 24
    highest = [pair.highest for pair in suspects.pairs]
    assert highest == sorted(highest, reverse=True)
    for pair in suspects.pairs:
        score = dirty.tail.scores[suspects.in_tail].max()
        assert pair.highest <= score

    wanted = exceeds(calibrate(clean, replicates=80), 1e-6)
    robust = exceeds(calibrate(dirty, without=suspects, replicates=80), 1e-6)
    fooled = exceeds(calibrate(dirty, replicates=80), 1e-6)
    assert robust == pytest.approx(wanted, abs=0.03)
    assert fooled > wanted + 0.15


def test_excluded_comparisons_are_not_counted() -> None:
    dirty = mislabelled(12, seed=7)
    suspects = find_suspects(dirty)
    with_all = calibrate(dirty, replicates=5)
    without = calibrate(dirty, without=suspects, replicates=5)
    assert with_all.comparisons - without.comparisons == suspects.comparisons
    both = [(k.score, k.fmr) for k in with_all.knots], [(k.score, k.fmr) for k in without.knots]
    for (score, rate), (same_score, lower) in zip(*both, strict=False):
        if score == same_score:  # all suspects lie above every knot
            counted = rate * with_all.comparisons - lower * without.comparisons
            assert counted == pytest.approx(suspects.comparisons, abs=0.6)


@pytest.mark.parametrize("tilt", [1.0, 3.0])
def test_clean_people_are_not_suspected(tilt: float) -> None:
    suspected = [bool(find_suspects(simulate(150, 2, seed, tilt)).pairs) for seed in range(60)]
    assert sum(suspected) <= 3


def test_too_little_is_refused() -> None:
    for people, each in ((LEAST_PEOPLE - 1, 3), (LEAST_PEOPLE, 1)):
        few = simulate(people, each, seed=8)
        assert not enough(few)
        with pytest.raises(ValueError, match="too few"):
            calibrate(few)
        with pytest.raises(ValueError, match="too few"):
            find_suspects(few)
    assert enough(simulate(142, 1, seed=8))
    assert LEAST_COMPARISONS <= 142 * 141 // 2


def test_scores_that_are_all_alike_are_refused() -> None:
    same = np.zeros((150, 8), dtype=np.float32)
    same[:, 0] = 1.0
    with pytest.raises(ValueError, match="all alike"):
        calibrate(compare_all(same, np.arange(150, dtype=np.intp)))


def test_scores_within_one_step_are_refused() -> None:
    # Cosines of 0.5 and a little: one shared direction, and a private one each.
    rng = np.random.default_rng(9)
    vectors = np.zeros((150, 151))
    vectors[:, 0] = np.sqrt(0.5) + 1e-4 * rng.standard_normal(150)
    vectors[np.arange(150), np.arange(1, 151)] = np.sqrt(0.5)
    comparisons = compare_all(vectors.astype(np.float32), np.arange(150, dtype=np.intp))
    with pytest.raises(ValueError, match="one step"):
        calibrate(comparisons)


def test_nothing_left_without_the_suspects_is_refused() -> None:
    comparisons = simulate(150, 2, seed=10)
    suspects = find_suspects(comparisons)
    everything = Suspects(suspects.pairs, np.ones_like(suspects.in_tail))
    with pytest.raises(ValueError, match="nothing is left"):
        calibrate(comparisons, without=everything)


def test_suspects_hidden_by_others_are_found_in_a_later_round() -> None:
    # Looser resemblance: a first look takes some of these for strangers.
    dirty = mislabelled(12, seed=11)
    once, settled = find_suspects(dirty, rounds=1), find_suspects(dirty)
    assert 0 < len(once.pairs) <= len(settled.pairs) == 12


def test_bootstrap_without_anybody_in_the_tail_counts_as_no_match() -> None:
    # All of the highest hundredth is between two people, who are not always drawn.
    rng = np.random.default_rng(12)
    vectors, owners = vectors_of(150, 1, rng)
    twins = np.repeat(rng.standard_normal((1, DIMENSION)), 26, axis=0)
    twins += 0.4 * rng.standard_normal(twins.shape)
    twins /= np.linalg.norm(twins, axis=1, keepdims=True)
    everybody = np.concatenate([vectors, twins.astype(np.float32)])
    names = np.concatenate([owners, np.repeat([150, 151], 13).astype(np.intp)])
    calibration = calibrate(compare_all(everybody, names), replicates=30)
    # 169 comparisons are worth one: the bound is that of one event, five times the estimate.
    start = calibration.tail
    assert calibration.tail_upper.rate / start.rate == pytest.approx(4.7, rel=0.5)
