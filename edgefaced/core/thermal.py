"""The thermal governor: temperature and load in, pace out; bands with overlapping limits.

A band says how the pipeline works while it holds. The governor goes up one band when the
temperature passes the band's upper limit and down one when it has stayed below the lower limit
of the band it is in for a while. Limits overlap, so that no temperature belongs to one band only;
and a step down that had to be taken back soon doubles the wait before the next try, so that a
plant whose balance lies between two bands ends in the upper one instead of swinging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import isnan


@dataclass(frozen=True, slots=True)
class Band:
    """How to work, and the temperatures at which to leave: up above `leave_above_celsius`, down
    below `leave_below_celsius`. `frame_stride` n looks at every n-th frame, `key_frame_interval`
    is the number of looked-at frames from one whole-frame detection to the next, `rest` looks at
    none.
    """

    name: str
    leave_above_celsius: float
    leave_below_celsius: float
    frame_stride: int
    key_frame_interval: int
    rest: bool = False


BANDS = (
    Band("cool", 65.0, float("-inf"), 1, 10),
    Band("warm", 72.0, 60.0, 2, 10),
    Band("hot", 78.0, 67.0, 4, 8),
    Band("very hot", 83.0, 73.0, 10, 4),
    Band("resting", float("inf"), 76.0, 30, 1, rest=True),
)
"""Defaults for boards that throttle at 85 °C, as those of Rockchip and Raspberry Pi do."""


@dataclass(frozen=True, slots=True)
class GovernorLimits:
    """Times in seconds. Up is quick, down is patient."""

    climb_after: float = 3.0
    """Least time between two steps up: heat follows work with a delay."""
    descend_after: float = 20.0
    """How long it must have been cool enough before a step down."""
    regret_within: float = 900.0
    """A step up this soon after a step down means that the step down was a mistake."""
    longest_wait: float = 1800.0
    """To which the doubled waits grow."""
    load_release: float = 0.7
    """The share of the latency budget below which load allows a step down."""


class Cause(StrEnum):
    """Why the governor took its last step."""

    START = "start"
    HEAT = "heat"
    UNREADABLE = "unreadable"
    LOAD = "load"
    COOLED = "cooled"


@dataclass(frozen=True, slots=True)
class Pace:
    """What the pipeline is to do now. `stepped` is true on the update that changed it."""

    band: Band
    level: int
    cause: Cause
    stepped: bool


def check_bands(bands: Sequence[Band]) -> None:
    """Raises ValueError, naming the band, where the table is no ladder with overlapping limits."""
    if not bands:
        raise ValueError("there is no band")
    if bands[0].rest:
        raise ValueError(f"{bands[0].name}: the first band cannot rest")
    for lower, upper in pairwise(bands):
        if not upper.leave_above_celsius > lower.leave_above_celsius:
            raise ValueError(f"{upper.name}: leave_above_celsius must rise from band to band")
        if not upper.leave_below_celsius > lower.leave_below_celsius:
            raise ValueError(f"{upper.name}: leave_below_celsius must rise from band to band")
        if not upper.leave_below_celsius < lower.leave_above_celsius:
            raise ValueError(f"{upper.name}: leave_below_celsius must lie under the limit before")
    for band in bands:
        if band.frame_stride < 1 or band.key_frame_interval < 1:
            raise ValueError(f"{band.name}: strides and intervals are 1 or more")


class ThermalGovernor:
    """Chooses the band; `update` is its only verb and does no input or output.

    A temperature that cannot be read counts as hot: the governor climbs, one step at a time, to
    the last band that still looks, and stays. It does not rest for ever, for a door must open.
    """

    def __init__(self, bands: Sequence[Band] = BANDS, limits: GovernorLimits | None = None) -> None:
        """Raises ValueError for a table that is not a ladder."""
        check_bands(bands)
        self._bands = tuple(bands)
        self._limits = limits or GovernorLimits()
        self._last_looking = max(i for i, band in enumerate(bands) if not band.rest)
        self._level = 0
        self._cause = Cause.START
        self._climbed: float | None = None
        self._descended: float | None = None
        self._calm_since: float | None = None
        self._wait = self._limits.descend_after

    def update(self, celsius: float | None, load: float | None, now: float) -> Pace:
        """The pace from now on.

        `celsius` is the hottest zone, None where a zone cannot be read; `load` the 95th percentile
        of latency over its budget, None where nothing was measured; `now` monotonic seconds.
        """
        degrees = None if celsius is None or isnan(celsius) else celsius
        before = self._level
        up = self._wanted_up(degrees, load)
        if up is not None:
            self._calm_since = None
            if self._climbed is None or now - self._climbed >= self._limits.climb_after:
                self._climb(up, now)
        elif self._calm(degrees, load):
            self._calm_since = now if self._calm_since is None else self._calm_since
            if now - self._calm_since >= self._wait:
                self._descend(now)
        else:
            self._calm_since = None
        stepped = self._level != before
        return Pace(self._bands[self._level], self._level, self._cause, stepped)

    def _wanted_up(self, celsius: float | None, load: float | None) -> Cause | None:
        last = len(self._bands) - 1
        looking = self._last_looking
        if celsius is None:
            return Cause.UNREADABLE if self._level < looking else None
        if self._level < last and celsius > self._bands[self._level].leave_above_celsius:
            return Cause.HEAT
        # Load alone never brings rest: a slow network is no reason to look at nothing.
        if self._level < looking and load is not None and load > 1:
            return Cause.LOAD
        return None

    def _calm(self, celsius: float | None, load: float | None) -> bool:
        if celsius is None:
            return self._level > self._last_looking
        relaxed = load is None or load < self._limits.load_release
        resting = self._bands[self._level].rest
        cool = celsius < self._bands[self._level].leave_below_celsius
        return self._level > 0 and cool and (relaxed or resting)

    def _climb(self, cause: Cause, now: float) -> None:
        limits = self._limits
        regretted = self._descended is not None and now - self._descended <= limits.regret_within
        wait = self._wait * 2 if regretted else limits.descend_after
        self._wait = min(wait, limits.longest_wait)
        self._level += 1
        self._cause = cause
        self._climbed = now

    def _descend(self, now: float) -> None:
        self._level -= 1
        self._cause = Cause.COOLED
        self._descended = now
        self._calm_since = None
        if self._level == 0:
            self._climbed = None
