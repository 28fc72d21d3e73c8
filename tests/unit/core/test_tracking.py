"""Ids are kept through motion, occlusion and crossing; the assignment is the best there is."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.tracking import Tracker, TrackingLimits, assign, moved, predict, start
from edgefaced.types import F64, Box, FaceDetection

FRAME = 1 / 30


def face(x: float, y: float = 200.0, side: float = 80.0) -> FaceDetection:
    box = Box(x - side / 2, y - side * 0.6, x + side / 2, y + side * 0.6)
    return FaceDetection(box, np.zeros((5, 2), np.float32), 0.9)


def test_a_walking_face_keeps_its_id_despite_jitter() -> None:
    random = np.random.default_rng(5)
    tracker, ids = Tracker(), set()
    for frame in range(120):
        x = 100 + 300 * frame * FRAME + random.normal(0, 2)
        result = tracker.update([face(x, side=80 + frame * 0.5)], frame * FRAME)
        ids |= {t.id for t in result.tracks}
    assert ids == {1}
    assert result.seen[0].looks == 120


def test_two_people_crossing_keep_theirs() -> None:
    tracker = Tracker()
    names: dict[int, str] = {}
    for frame in range(90):
        way = 200 * frame * FRAME
        ann, bob = face(100 + way, 200), face(700 - way, 230)
        # While one hides the other, the detector sees the nearer one only.
        hidden = abs(ann.box.centre[0] - bob.box.centre[0]) < 40
        result = tracker.update([ann] if hidden else [bob, ann], frame * FRAME)
        for track in result.seen:
            who = "ann" if track.detection is ann else "bob"
            assert names.setdefault(track.id, who) == who, f"frame {frame}"
    assert len(names) == 2


def test_a_short_occlusion_keeps_the_id_and_a_long_one_does_not() -> None:
    tracker = Tracker(TrackingLimits(lost_after=0.5))
    tracker.update([face(100)], 0.0)
    gone = tracker.update([], 0.4)
    assert [t.id for t in gone.tracks] == [1]
    assert gone.seen == gone.left == ()
    assert [t.id for t in tracker.update([face(103)], 0.45).seen] == [1]
    left = tracker.update([], 1.2)
    assert [t.id for t in left.left] == [1]
    assert left.tracks == ()
    assert [t.id for t in tracker.update([face(103)], 1.3).seen] == [2]


def test_prediction_goes_on_where_the_face_was_going() -> None:
    tracker = Tracker()
    for frame in range(30):
        tracker.update([face(100 + 10 * frame)], frame * FRAME)
    hidden = tracker.update([], 35 * FRAME)
    assert hidden.tracks[0].box.centre[0] == pytest.approx(100 + 10 * 35, abs=8)
    assert hidden.tracks[0].unseen_for(35 * FRAME) == pytest.approx(6 * FRAME)


def test_foreseeing_changes_nothing() -> None:
    tracker = Tracker()
    assert tracker.foresee(1.0) == ()
    for frame in range(10):
        tracker.update([face(100 + 10 * frame)], frame * FRAME)
    ahead = tracker.foresee(12 * FRAME)
    assert ahead[0].box.centre[0] == pytest.approx(220, abs=8)
    assert tracker.foresee(9 * FRAME)[0].box.centre[0] == pytest.approx(190, abs=8)


def test_a_stranger_far_away_is_a_new_track() -> None:
    tracker = Tracker()
    tracker.update([face(100)], 0)
    result = tracker.update([face(100), face(400)], FRAME)
    assert [t.id for t in result.tracks] == [1, 2]
    much_larger = tracker.update([face(100, side=300)], 2 * FRAME)
    assert [t.id for t in much_larger.seen] == [3]


def test_time_that_runs_backwards_forgets_nobody() -> None:
    tracker = Tracker()
    tracker.update([face(100)], 100.0)
    assert [t.id for t in tracker.update([], 50.0).tracks] == [1]
    assert [t.id for t in tracker.update([face(101)], 50.0).seen] == [1]


def test_doubt_grows_while_nobody_looks() -> None:
    limits = TrackingLimits()
    motion = start(face(100).box, limits)
    later = predict(motion, 0.5, limits)
    assert (later.spread[:, 0, 0] > motion.spread[:, 0, 0]).all()
    assert moved(face(100).box, later).centre == pytest.approx((100, 200))


def best_sum(table: F64, gate: float) -> float:
    """The smallest total by trying every assignment; leaving a pair alone costs two gates."""
    rows, columns = table.shape
    best = np.inf
    wide = np.concatenate(
        [np.where(table <= gate, table, 2 * gate), np.full((rows, rows), 2 * gate)], 1
    )
    for chosen in permutations(range(columns + rows), rows):
        best = min(best, sum(wide[r, c] for r, c in enumerate(chosen)))
    return float(best)


@given(st.integers(0, 2**31), st.integers(0, 4), st.integers(0, 4))
def test_the_assignment_is_the_best_of_all(seed: int, rows: int, columns: int) -> None:
    table = np.random.default_rng(seed).uniform(0, 2, (rows, columns))
    pairs = assign(table, 1.0)
    assert len({r for r, _ in pairs}) == len({c for _, c in pairs}) == len(pairs)
    assert all(table[r, c] <= 1.0 for r, c in pairs)
    total = sum(table[r, c] for r, c in pairs) + 2.0 * (rows - len(pairs))
    assert total == pytest.approx(best_sum(table, 1.0))


def test_a_tiny_face_keeps_its_id_though_its_box_wanders_by_pixels() -> None:
    # As a detector saw a face of 14 pixels at 12 frames a second; the third frame missed it.
    boxes = [(327.0, 107.2, 341.0, 126.0), (324.9, 106.5, 338.5, 121.8), None]
    tracker = Tracker()
    for number, edges in enumerate([*boxes, (321.6, 107.6, 336.5, 126.5)]):
        points = np.zeros((5, 2), np.float32)
        found = [] if edges is None else [FaceDetection(Box(*edges), points, 0.9)]
        result = tracker.update(found, number / 12)
    assert [t.id for t in result.tracks] == [1]


def test_after_an_interruption_nobody_is_taken_for_somebody_of_before() -> None:
    tracker = Tracker()
    (before,) = tracker.update([face(100, 100)], 0.0).seen
    limit = TrackingLimits().interrupted_after
    (same,) = tracker.update([face(100, 100)], limit).seen
    assert same.id == before.id, "a slow camera's looks are as far apart"
    result = tracker.update([face(100, 100)], 2 * limit + 0.1)
    assert [track.id for track in result.left] == [before.id]
    assert [track.id for track in result.seen] == [before.id + 1]


def test_whoever_is_forgotten_comes_back_as_somebody_new() -> None:
    tracker = Tracker()
    (before,) = tracker.update([face(100, 100)], 0.0).seen
    tracker.forget()
    assert tracker.foresee(0.1) == ()
    result = tracker.update([face(100, 100)], 0.1)
    assert result.left == ()
    assert [track.id for track in result.seen] == [before.id + 1]
