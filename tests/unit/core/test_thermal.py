"""The governor: bands, one step at a time, unreadable is hot, and a plant that it keeps cool."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefaced.core.thermal import BANDS, Band, Cause, GovernorLimits, ThermalGovernor, check_bands

LAST_LOOKING = 3


def settle(governor: ThermalGovernor, celsius: float | None, until: float, start: float = 0) -> int:
    level = 0
    now = start
    while now <= until:
        level = governor.update(celsius, None, now).level
        now += 1
    return level


def test_cool_is_full_pace() -> None:
    pace = ThermalGovernor().update(40, 0.5, 0)
    assert (pace.level, pace.band.frame_stride, pace.stepped) == (0, 1, False)
    assert pace.cause is Cause.START


def test_heat_climbs_one_step_at_a_time() -> None:
    governor, levels = ThermalGovernor(), []
    for second in range(12):
        pace = governor.update(95, None, second)
        levels.append(pace.level)
        assert pace.cause is Cause.HEAT
    assert levels == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    assert pace.band.rest


def test_limits_overlap_so_that_a_band_is_kept_on_the_way_down() -> None:
    governor = ThermalGovernor()
    assert settle(governor, 66, 5) == 1
    assert settle(governor, 61, 300, start=6) == 1, "below the limit up, above the limit down"
    assert settle(governor, 59, 320, start=301) == 1, "not before it stayed cool for a while"
    assert settle(governor, 59, 330, start=321) == 0


@pytest.mark.parametrize("reading", [None, math.nan])
def test_unreadable_is_hot_but_still_looks(reading: float | None) -> None:
    governor = ThermalGovernor()
    assert settle(governor, reading, 600) == LAST_LOOKING
    pace = governor.update(reading, 0.0, 601)
    assert pace.cause is Cause.UNREADABLE
    assert not pace.band.rest
    assert settle(governor, 40, 700, start=602) < LAST_LOOKING, "a sensor that returns is believed"


def test_a_sensor_that_fails_while_resting_goes_back_to_looking() -> None:
    governor = ThermalGovernor()
    assert settle(governor, 99, 60) == 4
    assert settle(governor, None, 200, start=61) == LAST_LOOKING


def test_load_climbs_but_never_to_rest_and_lets_go_below_its_share() -> None:
    governor = ThermalGovernor()
    for second in range(60):
        pace = governor.update(40, 1.5, second)
    assert pace.level == LAST_LOOKING
    assert pace.cause is Cause.LOAD
    for second in range(60, 200):
        pace = governor.update(40, 0.9, second)
    assert pace.level == LAST_LOOKING, "just under the budget is not calm"
    for second in range(200, 400):
        pace = governor.update(40, 0.5, second)
    assert pace.level == 0
    assert pace.cause is Cause.COOLED


def plant(
    governor: ThermalGovernor, *, ambient: float, watts: float, hours: float
) -> tuple[list[float], list[int]]:
    """A board whose heat follows its work: first order, 6 K per watt, 90 s; idle takes 1.5 W."""
    celsius, temperatures, levels = ambient + 9.0, [], []
    for second in range(int(hours * 3600)):
        pace = governor.update(celsius, None, float(second))
        work = 0.0 if pace.band.rest else 1 / pace.band.frame_stride
        target = ambient + 6.0 * (1.5 + watts * work)
        celsius += (target - celsius) / 90
        temperatures.append(celsius)
        levels.append(pace.level)
    return temperatures, levels


def steps(levels: list[int]) -> int:
    return sum(a != b for a, b in pairwise(levels))


@settings(max_examples=30)
@given(st.floats(-20, 60), st.floats(1, 9))
def test_a_board_settles_and_stays_under_the_limit(ambient: float, watts: float) -> None:
    temperatures, levels = plant(ThermalGovernor(), ambient=ambient, watts=watts, hours=4)
    assert max(temperatures) < 85.0
    assert steps(levels[-3600:]) <= 4, "two tries in the last hour at most"
    assert all(abs(a - b) <= 1 for a, b in pairwise(levels))


def test_a_balance_between_two_bands_ends_above_not_swinging() -> None:
    temperatures, levels = plant(ThermalGovernor(), ambient=30, watts=6, hours=8)
    assert max(temperatures) < 85
    first, last = steps(levels[:3600]), steps(levels[-3600:])
    assert last <= 4
    assert last < first
    impatient = GovernorLimits(regret_within=0)
    _, swinging = plant(ThermalGovernor(limits=impatient), ambient=30, watts=6, hours=8)
    assert steps(swinging[-3600:]) > 3 * last, "the doubled wait is what settles it"


def test_an_oven_rests() -> None:
    _, levels = plant(ThermalGovernor(), ambient=76, watts=6, hours=1)
    assert levels[-1] == 4


@pytest.mark.parametrize(
    ("bands", "words"),
    [
        ([], "no band"),
        ([replace(BANDS[0], rest=True)], "cool: the first band cannot rest"),
        ([BANDS[1], BANDS[0]], "cool: leave_above"),
        ([BANDS[0], replace(BANDS[1], leave_below_celsius=-math.inf)], "warm: leave_below"),
        ([BANDS[0], replace(BANDS[1], leave_below_celsius=66)], "warm: leave_below.*under"),
        ([replace(BANDS[0], frame_stride=0)], "cool: strides"),
    ],
)
def test_a_table_that_is_no_ladder_is_refused(bands: list[Band], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_bands(bands)
