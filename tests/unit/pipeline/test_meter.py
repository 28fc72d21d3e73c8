"""Rates over the last seconds, and processor time split by whether there was anything to do."""

from __future__ import annotations

import pytest

from edgefaced.pipeline.meter import WINDOW_SECONDS, Meter, Rates, Reading


def test_rates_are_those_of_the_last_seconds_only() -> None:
    meter = Meter()
    meter.tick(Reading(0.0, 0.0, 0, 0), active=False)
    assert meter.rates == Rates()
    for second in range(1, 61):
        fast = min(second, 30)
        meter.tick(Reading(float(second), 0.5 * fast, 30 * fast, 10 * fast), active=True)
        if second == 30:
            assert meter.rates == Rates(30.0, 10.0, 0.5)
    assert meter.rates == Rates(0.0, 0.0, 0.0), "nothing came in the last half minute"
    assert WINDOW_SECONDS < 30


def test_processor_time_is_split_by_whether_somebody_is_there() -> None:
    meter = Meter()
    meter.tick(Reading(10.0, 1.0, 0, 0), active=True)
    meter.tick(Reading(12.0, 1.1, 60, 6), active=False)
    meter.tick(Reading(13.0, 1.6, 90, 36), active=True)
    assert meter.seconds == {"idle": 2.0, "active": 1.0}
    assert meter.cpu_seconds == {"idle": pytest.approx(0.1), "active": pytest.approx(0.5)}


def test_a_new_line_counts_from_nothing_and_no_rate_is_negative() -> None:
    meter = Meter()
    meter.tick(Reading(0.0, 0.0, 0, 0), active=False)
    meter.tick(Reading(1.0, 0.1, 30, 30), active=False)
    meter.tick(Reading(2.0, 0.2, 3, 3), active=False)
    meter.tick(Reading(3.0, 0.3, 33, 33), active=False)
    assert meter.rates.captured_per_second == pytest.approx(30.0)
