"""What is held against what: costs in networks, and decisions each with its like."""

from __future__ import annotations

import pytest

from edgefaced.benchmark.passing import Decided, NetworkCosts, Passing, delays
from edgefaced.types import Outcome


def decided(frame: int, person: str | None = "ann") -> Decided:
    outcome = Outcome.UNKNOWN if person is None else Outcome.KNOWN
    return Decided(frame, outcome, person, 5.0)


def test_costs_are_those_of_the_networks_that_ran() -> None:
    passing = Passing(
        name="ours",
        frames=100,
        film_seconds=10.0,
        cpu_seconds=2.0,
        wall_seconds=4.0,
        decided=(),
        whole_looks=10,
        close_looks=50,
        embeddings=4,
    )
    assert NetworkCosts(4.0, 1.0, 5.0).per_frame(passing) == pytest.approx(1.1)
    assert passing.frames_per_second == 25
    assert passing.cpu_per_minute == pytest.approx(12.0)


def test_decisions_are_paired_by_whom_they_are_about() -> None:
    ours = [decided(9, None), decided(4), decided(40)]
    theirs = [decided(2), decided(8, None), decided(40)]
    assert delays(ours, theirs) == (2, 0, 1)
    assert delays([], []) == ()


@pytest.mark.parametrize(
    "ours", [[], [decided(2), decided(3)], [decided(2, None)], [decided(2, "bob")]]
)
def test_other_decisions_do_not_compare(ours: list[Decided]) -> None:
    assert delays(ours, [decided(2)]) is None
