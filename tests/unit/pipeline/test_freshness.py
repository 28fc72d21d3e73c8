"""A frame is too old after two looks, the camera's own delay aside."""

from __future__ import annotations

from edgefaced.pipeline.freshness import Freshness

MS = 1_000_000
PERIOD = 33 * MS


def seen(freshness: Freshness, frames: int, *, look_ms: int, delay_ms: int = 0) -> tuple[int, int]:
    """The last of so many frames, captured and arrived, each of which was looked at."""
    captured = arrived = 0
    for number in range(frames):
        captured = number * PERIOD
        arrived = captured + delay_ms * MS
        freshness.arrived(captured, arrived)
        freshness.taken(captured)
        freshness.looked(look_ms * MS)
    return captured, arrived


def test_before_anything_is_known_nothing_is_old() -> None:
    freshness = Freshness()
    assert freshness.is_fresh(0, 10**12)
    freshness.arrived(0, 0)
    assert freshness.is_fresh(0, 10**12)


def test_the_first_frame_has_the_time_of_two_slow_ones() -> None:
    freshness = Freshness()
    _, now = seen(freshness, 1, look_ms=5)
    assert freshness.is_fresh(0, now + 200 * MS)
    assert not freshness.is_fresh(0, now + 201 * MS)


def test_with_a_quick_detector_two_frames_are_the_limit() -> None:
    freshness = Freshness()
    captured, now = seen(freshness, 20, look_ms=5)
    assert freshness.limit_ns == 2 * PERIOD
    assert freshness.is_fresh(captured, now)
    assert freshness.is_fresh(captured - 2 * PERIOD, now)
    assert not freshness.is_fresh(captured - 3 * PERIOD, now)


def test_with_a_slow_detector_two_of_its_looks_are() -> None:
    freshness = Freshness()
    captured, now = seen(freshness, 20, look_ms=100)
    assert freshness.limit_ns == 200 * MS
    assert freshness.is_fresh(captured - 6 * PERIOD, now)
    assert not freshness.is_fresh(captured - 7 * PERIOD, now)


def test_a_frame_grows_old_while_no_other_comes() -> None:
    freshness = Freshness()
    captured, now = seen(freshness, 20, look_ms=5)
    assert freshness.is_fresh(captured, now + 2 * PERIOD)
    assert not freshness.is_fresh(captured, now + 2 * PERIOD + 1)


def test_a_camera_that_hands_out_its_frames_late_has_no_old_frames_for_that() -> None:
    freshness = Freshness()
    captured, now = seen(freshness, 20, look_ms=5, delay_ms=900)
    assert freshness.is_fresh(captured, now)
    assert freshness.is_fresh(captured - PERIOD, now)
    assert not freshness.is_fresh(captured - 3 * PERIOD, now)


def test_one_long_gap_or_a_new_time_line_makes_nothing_old_count_as_fresh() -> None:
    freshness = Freshness()
    seen(freshness, 20, look_ms=5)
    freshness.taken(10**12)  # after a pause
    freshness.taken(0)  # another camera
    freshness.looked(5 * MS)
    assert freshness.limit_ns == 2 * PERIOD


def test_an_age_counts_from_the_arrival_of_the_frame() -> None:
    freshness = Freshness()
    assert freshness.age_ns(5, 7) == 0, "before anything is known"
    captured, now = seen(freshness, 20, look_ms=5, delay_ms=900)
    assert freshness.age_ns(captured, now) == 0
    assert freshness.age_ns(captured - PERIOD, now + MS) == PERIOD + MS


def test_a_replay_that_waits_has_no_old_frames() -> None:
    freshness = Freshness(unlimited=True)
    _, now = seen(freshness, 20, look_ms=5)
    assert freshness.is_fresh(0, now + 10**12)
