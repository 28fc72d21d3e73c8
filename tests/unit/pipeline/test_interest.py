"""A settled face is of no interest until its time; one that left is forgotten."""

from __future__ import annotations

from math import inf

from edgefaced.pipeline.interest import Interest


def test_whoever_is_new_is_wanted_and_whoever_is_settled_is_not() -> None:
    interest = Interest()
    assert interest.wants(1, 10.0)
    interest.settle(1, 15.0, inf)
    assert not interest.wants(1, 14.9)
    assert interest.wants(1, 15.0)
    assert interest.wants(2, 14.9)


def test_whoever_is_undecided_is_wanted_and_due_when_patience_is_over() -> None:
    interest = Interest()
    assert not interest.is_due(1, 10.0)
    interest.settle(1, -inf, 12.0)
    assert interest.wants(1, 10.0)
    assert not interest.is_decided(1)
    assert not interest.is_due(1, 11.9)
    assert interest.is_due(1, 12.0)
    interest.settle(1, 12.0, inf)
    assert interest.is_decided(1)
    assert interest.wants(1, 12.0), "one that was too poor, for example"
    assert not interest.is_due(1, 99.0)


def test_whoever_left_is_forgotten() -> None:
    interest = Interest()
    interest.settle(1, 15.0, inf)
    interest.forget(1)
    interest.forget(1)
    assert interest.wants(1, 10.0)
    assert not interest.is_decided(1)
