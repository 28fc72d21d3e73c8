"""Whole looks when needed, close looks otherwise, and the same faces found either way."""

from __future__ import annotations

import numpy as np
import pytest

from edgefaced.pipeline.watch import Watcher, close_looks_worth, cut_by, without_doubles
from edgefaced.types import Box, FaceDetection, Frame, PixelFormat

FRAME_SECONDS = 1 / 30


class Marks:
    """A detector that finds the bright squares of a frame, however it is cropped."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, int]] = []
        self.blind = False

    def detect(self, frame: Frame) -> list[FaceDetection]:
        self.frames.append((frame.width, frame.height))
        found: list[FaceDetection] = []
        if self.blind:
            return found
        for value in (200, 220, 240):
            rows, columns = np.nonzero(frame.pixels[..., 0] == value)
            if rows.size >= 800:
                box = Box(columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
                found.append(FaceDetection(box, np.zeros((5, 2), np.float32), value / 255))
        return found

    def bytes_copied(self, frame: Frame) -> int:
        return 1


def frame(*places: tuple[int, int]) -> Frame:
    pixels = np.zeros((480, 640, 3), np.uint8)
    for value, (x, y) in zip((200, 220, 240), places, strict=False):
        pixels[y : y + 40, x : x + 40] = value
    return Frame(0, 0, pixels, PixelFormat.BGR)


def test_between_whole_looks_only_the_face_is_looked_at() -> None:
    whole, close = Marks(), Marks()
    watcher = Watcher(whole, close)
    ids = set()
    for i in range(40):
        result = watcher.watch(
            frame((100 + 4 * i, 200)), key_frame_interval=10, now=i * FRAME_SECONDS
        )
        ids |= {t.id for t in result.tracks}
        assert result.seen[0].box.left == pytest.approx(100 + 4 * i)
    assert ids == {1}
    assert (watcher.whole_looks, watcher.close_looks) == (4, 36)
    assert len(whole.frames) == 4
    assert watcher.bytes_copied == 40
    assert set(close.frames) == {(96, 96)}, "2.2 times 40, the next 32"


def test_a_missed_face_brings_a_whole_look_with_the_next_frame() -> None:
    whole, close = Marks(), Marks()
    watcher = Watcher(whole, close)
    watcher.watch(frame((100, 200)), key_frame_interval=10, now=0)
    jumped = frame((500, 100))
    assert watcher.watch(jumped, key_frame_interval=10, now=0.03).seen == ()
    assert watcher.tracks
    result = watcher.watch(jumped, key_frame_interval=10, now=0.06)
    assert [t.id for t in result.seen] == [2]
    assert watcher.whole_looks == 2


def test_nobody_in_view_is_a_whole_look_every_time() -> None:
    whole, close = Marks(), Marks()
    watcher = Watcher(whole, close)
    for i in range(5):
        watcher.watch(frame(), key_frame_interval=10, now=i * FRAME_SECONDS)
    assert not watcher.tracks
    assert (watcher.whole_looks, watcher.close_looks) == (5, 0)


def test_faces_in_each_others_regions_are_each_found_once() -> None:
    watcher = Watcher(Marks(), Marks(), most_close_looks=3)
    for i in range(6):
        result = watcher.watch(
            frame((100, 200), (150, 200), (400, 50)), key_frame_interval=10, now=i * FRAME_SECONDS
        )
        assert len(result.seen) == 3
    assert {t.id for t in result.tracks} == {1, 2, 3}


def test_without_a_close_detector_every_look_is_whole() -> None:
    whole = Marks()
    watcher = Watcher(whole, None)
    for i in range(4):
        watcher.watch(frame((100, 200)), key_frame_interval=10, now=i * FRAME_SECONDS)
    assert len(whole.frames) == 4


def test_a_face_that_walks_out_of_the_frame_leaves() -> None:
    whole, close = Marks(), Marks()
    watcher = Watcher(whole, close)
    left: list[int] = []
    for i in range(60):
        place = ((540 + 20 * i, 200),) if i < 5 else ()
        result = watcher.watch(frame(*place), key_frame_interval=10, now=i * FRAME_SECONDS)
        left += [t.id for t in result.left]
    assert left == [1]
    assert not watcher.tracks


def test_no_doubles_of_one() -> None:
    one = FaceDetection(Box(0, 0, 10, 10), np.zeros((5, 2), np.float32), 0.5)
    better = FaceDetection(Box(1, 0, 11, 10), np.zeros((5, 2), np.float32), 0.9)
    assert without_doubles([one, better]) == [better]
    assert without_doubles([one]) == [one]


def test_a_neighbour_cut_by_the_region_is_left_to_its_own_region() -> None:
    whole = frame()
    region = Frame(0, 0, whole.pixels[100:200, 50:150], PixelFormat.BGR)
    assert not cut_by(Box(60, 110, 140, 190), region, 50, 100, whole)
    for box in (Box(50, 110, 90, 190), Box(60, 99, 90, 190), Box(60, 110, 151, 190)):
        assert cut_by(box, region, 50, 100, whole)
    assert cut_by(Box(60, 110, 90, 200), region, 50, 100, whole)
    corner = Frame(0, 0, whole.pixels[:100, :100], PixelFormat.BGR)
    assert not cut_by(Box(-5, -5, 60, 60), corner, 0, 0, whole), "the frame's own edge"


def follow(watcher: Watcher, frames: int, *, step: int = 4, wanted: int = 0) -> list[int]:
    """Somebody walks along of whom nothing is wanted after `wanted` frames; frames passed over."""
    passed = []
    for i in range(frames):
        now = i * FRAME_SECONDS
        if i >= wanted and watcher.pass_over(key_frame_interval=10, now=now):
            passed.append(i)
            continue
        result = watcher.watch(frame((100 + step * i, 200)), key_frame_interval=10, now=now)
        assert [t.id for t in result.seen] == [1]
    return passed


def test_with_nobody_wanted_every_third_frame_will_do_and_whole_looks_keep_their_time() -> None:
    watcher = Watcher(Marks(), Marks())
    passed = follow(watcher, 40)
    assert [i for i in range(40) if i not in passed] == [0, 1, *range(2, 40, 3)]
    assert watcher.whole_looks == 5, "with the third look each, which is within ten frames"
    assert watcher.close_looks == 10


def test_beside_somebody_who_is_wanted_the_others_are_looked_at_now_and_then() -> None:
    watcher = Watcher(Marks(), Marks())
    seen = []
    for i in range(21):
        three = frame((100 + 3 * i, 200), (250, 200 - 2 * i), (400, 50))
        calm = {2, 3} if i else ()
        result = watcher.watch(three, key_frame_interval=10, now=i * FRAME_SECONDS, calm=calm)
        assert {t.id for t in result.tracks} == {1, 2, 3}
        assert watcher.hidden == frozenset()
        seen.append(len(result.seen))
    assert seen == [3] * 3 + [1, 1, 3] * 6
    assert (watcher.whole_looks, watcher.close_looks) == (9, 12), "three at once are a whole look"


def test_a_running_face_keeps_its_id_at_every_third_frame() -> None:
    passed = follow(Watcher(Marks(), Marks()), 40, step=12, wanted=4)  # nine widths a second
    assert len(passed) > 20


def test_more_faces_than_pay_are_looked_at_as_a_whole() -> None:
    close = Marks()
    watcher = Watcher(Marks(), close)
    for i in range(6):
        faces = frame((100, 200), (250, 200), (400, 50))
        watcher.watch(faces, key_frame_interval=10, now=i * FRAME_SECONDS)
    assert (watcher.whole_looks, close.frames) == (6, [])
    watcher = Watcher(Marks(), close, most_close_looks=3)
    for i in range(6):
        watcher.watch(faces, key_frame_interval=10, now=i * FRAME_SECONDS)
    assert (watcher.whole_looks, watcher.close_looks) == (1, 15)


def test_a_hidden_face_brings_some_whole_looks_and_the_other_is_followed_closely() -> None:
    whole, close = Marks(), Marks()
    watcher = Watcher(whole, close)
    both, one = frame((100, 200), (400, 200)), frame((100, 200))
    watcher.watch(both, key_frame_interval=10, now=0.0)
    looks = []
    for i in range(1, 10):
        before = watcher.whole_looks
        watcher.watch(one, key_frame_interval=10, now=i * FRAME_SECONDS)
        looks.append(watcher.whole_looks - before)
    assert looks == [0, 1, 0, 0, 1, 0, 0, 1, 0]
    assert watcher.hidden == {2}
    watcher.watch(both, key_frame_interval=10, now=10 * FRAME_SECONDS)
    result = watcher.watch(both, key_frame_interval=10, now=11 * FRAME_SECONDS)
    assert {t.id for t in result.seen} == {1, 2}
    assert watcher.hidden == frozenset()


def test_where_nobody_is_in_view_every_second_frame_is_searched() -> None:
    watcher = Watcher(Marks(), Marks())
    searched = []
    for i in range(10):
        if not watcher.pass_over(key_frame_interval=10, now=i * FRAME_SECONDS):
            watcher.watch(frame(), key_frame_interval=10, now=i * FRAME_SECONDS)
            searched.append(i)
    assert searched == [0, 2, 4, 6, 8]


def test_beginning_anew_forgets_whom_it_followed_and_looks_at_once() -> None:
    watcher = Watcher(Marks(), Marks())
    watcher.watch(frame((100, 200)), key_frame_interval=10, now=0.0)
    assert [t.id for t in watcher.begin_anew()] == [1]
    assert not watcher.tracks
    assert not watcher.pass_over(key_frame_interval=10, now=0.01)
    result = watcher.watch(frame((100, 200)), key_frame_interval=10, now=0.01)
    assert [t.id for t in result.seen] == [2]


def test_a_slow_camera_and_a_missed_face_give_every_frame() -> None:
    whole, close = Marks(), Marks()
    watcher = Watcher(whole, close)
    assert not watcher.pass_over(key_frame_interval=10, now=0)
    watcher.watch(frame((100, 200)), key_frame_interval=10, now=0)
    assert not watcher.pass_over(key_frame_interval=10, now=0.1)
    watcher.watch(frame(), key_frame_interval=10, now=0.1)
    assert not watcher.pass_over(key_frame_interval=10, now=0.11)


def test_close_looks_are_worth_it_while_they_are_less_work_than_a_whole_one() -> None:
    close = 160 * 160
    assert close_looks_worth(320 * 180, close) == 2
    assert close_looks_worth(640 * 360, close) == 8
    assert close_looks_worth(320 * 320, close) == 3
    assert close_looks_worth(160 * 90, close) == 1
