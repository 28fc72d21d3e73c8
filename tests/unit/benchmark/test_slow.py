"""Ages of judged frames, by thirds of the film."""

from __future__ import annotations

import pytest

from edgefaced.benchmark.slow import SlowFigures


def test_a_growing_age_shows_in_the_last_third() -> None:
    growing = SlowFigures(
        delay_ms=100.0,
        ages_ms=tuple(float(n) for n in range(30)),
        lags=(0,) * 30,
        limits_ms=(27.0,) * 30,
        displaced=7,
        stale=3,
    )
    assert growing.too_old == 2, "28 and 29"
    assert growing.p95_of_thirds_ms() == pytest.approx((8.55, 18.55, 28.55))
