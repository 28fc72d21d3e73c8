"""A picture that repeats is no look of its own; one of a single shade is dark, not frozen."""

from __future__ import annotations

import numpy as np
import pytest

from edgefaced.core.sight import Glance, Sight, SightLimits
from edgefaced.types import U8

LIMITS = SightLimits()


def noise(seed: int, low: int = 0, high: int = 256) -> U8:
    return np.random.default_rng(seed).integers(low, high, (27, 48), np.uint8)


def test_pictures_that_differ_by_one_cell_are_new() -> None:
    sight, thumb = Sight(), noise(1)
    for number in range(100):
        thumb = thumb.copy()
        thumb[13, 24] ^= 1
        assert sight.look(thumb, float(number)) is Glance.NEW
    assert not sight.blind


def test_a_picture_that_repeats_is_frozen_after_a_while() -> None:
    sight, thumb = Sight(), noise(1)
    assert sight.look(thumb, 0.0) is Glance.NEW
    assert sight.look(thumb.copy(), 0.5) is Glance.REPEATED
    assert sight.look(thumb, LIMITS.frozen_after - 0.01) is Glance.REPEATED
    assert sight.look(thumb, LIMITS.frozen_after) is Glance.FROZEN
    assert sight.look(noise(2), LIMITS.frozen_after + 1) is Glance.NEW
    assert sight.look(thumb, LIMITS.frozen_after + 2) is Glance.NEW, "only the last one counts"


def test_a_camera_opened_again_has_a_while_to_show_something_new() -> None:
    sight, thumb = Sight(), noise(1)
    sight.look(thumb, 0.0)
    assert sight.look(thumb, 5.0) is Glance.FROZEN
    sight.opened(6.0)
    assert sight.look(thumb, 6.0) is Glance.REPEATED
    assert sight.look(thumb, 6.0 + LIMITS.frozen_after) is Glance.FROZEN


@pytest.mark.parametrize(
    "plain",
    [np.full((27, 48), 16, np.uint8), noise(1, 16, 16 + LIMITS.least_contrast)],
    ids=["black", "dark noise"],
)
def test_one_shade_is_blind_after_a_while_and_never_frozen(plain: U8) -> None:
    sight = Sight()
    plain = plain.copy()
    plain[0, :5] = 255  # hot pixels
    for second in range(int(LIMITS.blind_after)):
        assert sight.look(plain, float(second)) is Glance.NEW
        assert not sight.blind
    sight.look(plain, LIMITS.blind_after)
    assert sight.blind
    sight.look(noise(3), LIMITS.blind_after + 1)
    assert not sight.blind


def test_between_two_judgements_a_new_picture_is_taken_for_what_the_last_one_was() -> None:
    sight = Sight()
    sight.look(np.zeros((27, 48), np.uint8), 0.0)
    sight.look(noise(1), LIMITS.judge_every / 2)
    assert sight.look(noise(2), LIMITS.blind_after + LIMITS.judge_every) is Glance.NEW
    assert not sight.blind, "it is judged again by then"
