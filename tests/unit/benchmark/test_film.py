"""A film plays every frame in order, in its own time, and again."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from edgefaced.benchmark.film import RATE, film_of_files, film_of_frames, staged_films, standing
from edgefaced.benchmark.tallied import TalliedCamera, Tally
from edgefaced.errors import CameraEnded, LeaseError, UsageError
from edgefaced.types import U8


def plain(value: int) -> U8:
    return np.full((72, 128, 3), value, np.uint8)


def test_acts_follow_each_other_at_the_rate_of_a_camera() -> None:
    film = film_of_frames("acts", [([plain(1), plain(2)], 3), ([plain(9)], 2)])
    for _ in range(2):
        with film.open("fast", False) as camera:
            seen, times = [], []
            for _ in range(5):
                lease = camera.next(1)
                assert lease is not None
                with lease:
                    seen.append(int(lease.frame.pixels[0, 0, 0]))
                    times.append(lease.frame.captured_ns)
            with pytest.raises(CameraEnded):
                camera.next(1)
        assert seen == [1, 2, 1, 9, 9]
        assert np.diff(times) == pytest.approx([1e9 / RATE] * 4, abs=2)


def test_people_sway_and_a_whole_sway_has_no_jump() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (60, 40, 3), np.uint8)
    frames = standing([picture, picture])
    steps = [
        float(np.mean(cv2.absdiff(a, b)))
        for a, b in zip(frames, [*frames[1:], frames[0]], strict=True)
    ]
    assert min(steps) > 0
    assert steps[-1] <= 1.1 * max(steps[:-1])
    assert np.std(standing([], 1)[0]) < 5


def test_the_staged_films_last_as_long_as_they_should() -> None:
    there, visits = staged_films([plain(50)], seconds=0.1, visits=1)
    for film, frames in ((there, 3), (visits, 66)):
        with film.open("fast", False) as camera:
            for _ in range(frames):
                lease = camera.next(1)
                assert lease is not None
                lease.release()
            with pytest.raises(CameraEnded):
                camera.next(1)


def test_a_film_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no picture"):
        film_of_files([tmp_path])


def test_a_picture_is_a_film_of_one_frame(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "one.png"), plain(7))
    with film_of_files([tmp_path]).open("fast", False) as camera:
        lease = camera.next(1)
        assert lease is not None
        lease.release()
        with pytest.raises(CameraEnded):
            camera.next(1)


def test_a_tally_knows_what_is_out_and_which_frame_was_when() -> None:
    tally = Tally()
    film = film_of_frames("two", [([plain(1)], 2)])
    with TalliedCamera(film.open("fast", False), tally, numbered=True) as camera:
        assert camera.description.width == 128
        first, second = camera.next(1), camera.next(1)
        assert first is not None
        assert second is not None
        assert first.small is first.frame
        assert (first.frame.buffer, first.copied_bytes) == (None, 0)
        assert tally.numbers[second.frame.captured_ns] == 1
        first.release()
        assert (tally.lent, tally.returned) == (2, 1)
        assert not camera.settled(0)
        with second:
            pass
        assert camera.settled(0)
        assert camera.counts.lent == 2
        with pytest.raises(LeaseError):
            first.release()
    assert (tally.lent, tally.returned) == (2, 2)
