"""The generalised Pareto tail: its survival function, and the fit against known parameters."""

from __future__ import annotations

import numpy as np
import pytest

from edgefaced.core.tail import ParetoTail, fit_excesses
from edgefaced.types import F64


def pareto_sample(scale: float, shape: float, count: int, seed: int) -> F64:
    """By inverting the distribution function."""
    uniform = np.random.default_rng(seed).uniform(size=count)
    if shape == 0.0:
        return np.asarray(-scale * np.log(uniform))
    return np.asarray(scale * (uniform**-shape - 1.0) / shape)


@pytest.mark.parametrize("shape", [-0.4, -0.1, 0.0, 0.1, 0.5])
def test_tail_falls_from_its_rate_as_samples_do(shape: float) -> None:
    tail = ParetoTail(start=0.3, rate=1e-3, scale=0.03, shape=shape)
    assert tail.fmr(-1.0) == tail.fmr(0.3) == 1e-3
    sample = 0.3 + pareto_sample(0.03, shape, 400_000, seed=5)
    for score in (0.31, 0.34, 0.36):
        assert tail.fmr(score) == pytest.approx(1e-3 * np.mean(sample >= score), rel=0.05)


def test_bounded_tail_ends() -> None:
    tail = ParetoTail(start=0.3, rate=1e-3, scale=0.03, shape=-0.1)
    assert tail.fmr(0.59) > 0.0
    assert tail.fmr(0.6) == 0.0
    assert tail.fmr(1.0) == 0.0


@pytest.mark.parametrize("shape", [-0.4, -0.1, 0.0, 0.1, 0.5])
@pytest.mark.parametrize("scale", [0.003, 0.05])
def test_fit_finds_the_parameters(scale: float, shape: float) -> None:
    sample = pareto_sample(scale, shape, 20_000, seed=6)
    room = 2.0 * float(sample.max()) if shape >= 0.0 else -scale / shape
    found_scale, found_shape = fit_excesses(sample, np.ones(sample.size), room)
    assert found_scale == pytest.approx(scale, rel=0.05)
    assert found_shape == pytest.approx(shape, abs=0.04)


@pytest.mark.parametrize("seed", range(6))
def test_no_neighbour_is_likelier(seed: int) -> None:
    sample = pareto_sample(0.03, 0.3 - 0.12 * seed, 200, seed)
    room = 1.01 * float(sample.max())
    scale, shape = fit_excesses(sample, np.ones(sample.size), room)

    def likelihood(scale: float, shape: float) -> float:
        inside = 1.0 + shape * sample / scale
        if inside.min() <= 0.0:
            return -np.inf
        return float(np.sum(-np.log(scale) - (1.0 / shape + 1.0) * np.log(inside)))

    best = likelihood(scale, shape)
    for a in (0.98, 1.0, 1.02):
        for b in (-0.02, 0.0, 0.02):
            assert likelihood(scale * a, shape + b) <= best + 1e-6


def test_weights_count_as_repetitions() -> None:
    sample = pareto_sample(0.03, 0.1, 300, seed=7)
    times = np.random.default_rng(8).integers(0, 4, size=sample.size)
    weighted = fit_excesses(sample, times.astype(np.float64), 1.0)
    repeated = fit_excesses(np.repeat(sample, times), np.ones(int(times.sum())), 1.0)
    assert weighted == pytest.approx(repeated, rel=1e-5)


def test_exactly_exponential_excesses_have_shape_nearly_zero() -> None:
    # Quantiles of the exponential distribution: no sampling noise.
    sample = -0.02 * np.log((np.arange(5_000) + 0.5) / 5_000)
    scale, shape = fit_excesses(sample, np.ones(sample.size), 1.0)
    assert shape == pytest.approx(0.0, abs=5e-3)
    assert ParetoTail(0.0, 1.0, scale, shape).fmr(0.1) == pytest.approx(np.exp(-5), rel=0.03)
    assert ParetoTail(0.0, 1.0, scale, 0.0).fmr(0.1) == pytest.approx(np.exp(-5), rel=0.03)


def test_tail_that_would_end_early_is_held_open() -> None:
    sample = pareto_sample(0.03, -0.3, 2_000, seed=9)  # ends at 0.1
    scale, shape = fit_excesses(sample, np.ones(sample.size), 0.6)
    assert -scale / shape == pytest.approx(0.6, rel=1e-3)
    assert ParetoTail(0.4, 1e-3, scale, shape).fmr(0.9) > 0.0


def test_a_weightless_excess_at_the_very_end_does_no_harm() -> None:
    sample = np.append(pareto_sample(0.03, -0.1, 500, seed=10), 0.6 - 1e-3)
    weights = np.append(np.ones(500), 0.0)
    found = fit_excesses(sample, weights, 0.6)
    assert found == pytest.approx(fit_excesses(sample[:-1], weights[:-1], 0.6))
