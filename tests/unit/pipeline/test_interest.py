"""A settled face is of no interest until its time; one that left is forgotten."""

from __future__ import annotations

from edgefaced.pipeline.interest import Interest


def test_whoever_is_new_is_wanted_and_whoever_is_settled_is_not() -> None:
    interest = Interest()
    assert interest.wants(1, 10.0)
    interest.settle(1, 15.0)
    assert not interest.wants(1, 14.9)
    assert interest.wants(1, 15.0)
    assert interest.wants(2, 14.9)


def test_whoever_left_is_forgotten() -> None:
    interest = Interest()
    interest.settle(1, 15.0)
    interest.forget(1)
    interest.forget(1)
    assert interest.wants(1, 10.0)
