"""What is held against what: costs in networks, and decisions each with its like."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgefaced.benchmark.copied import Copied
from edgefaced.benchmark.passing import Decided, InputBytes, NetworkCosts, Passing, delays
from edgefaced.types import Outcome


def decided(frame: int, person: str | None = "ann") -> Decided:
    outcome = Outcome.UNKNOWN if person is None else Outcome.KNOWN
    return Decided(frame, outcome, person, 5.0)


PASSING = Passing(
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


def test_costs_are_those_of_the_networks_that_ran() -> None:
    assert NetworkCosts(4.0, 1.0, 5.0).per_frame(PASSING) == pytest.approx(1.1)
    assert PASSING.frames_per_second == 25
    assert PASSING.cpu_per_minute == pytest.approx(12.0)


def test_bytes_are_held_against_the_inputs_and_faces_of_a_look() -> None:
    inputs = InputBytes(whole=6000, close=600)
    just = 10 * 6000 + 50 * 600 + 5 * 112 * 112 * 3
    copied = inputs.copied(replace(PASSING, faces=5, bytes_copied=just))
    assert copied == Copied(just / 60, just / 60)
    assert copied.holds
    over = inputs.copied(replace(PASSING, faces=5, bytes_copied=just + 1))
    assert over is not None
    assert not over.holds


def test_nothing_is_said_of_bytes_that_nobody_counted() -> None:
    inputs = InputBytes(whole=6000, close=600)
    assert inputs.copied(PASSING) is None
    assert inputs.copied(replace(PASSING, whole_looks=0, close_looks=0, bytes_copied=0)) is None


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
