"""Files that stand for a camera: their time, their order, their losses."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np
import pytest
from camera_rigs import FilmClock, picture, shade_of

from edgefaced.camera.replay import open_replay
from edgefaced.errors import CameraEnded, PictureError
from edgefaced.pictures.video import VideoWriter
from edgefaced.protocols import Camera, CameraWish, FrameLease
from edgefaced.types import PixelFormat

SECOND = 1_000_000_000
SHADES = [40, 80, 120, 160]


@pytest.fixture
def stills(tmp_path: Path) -> list[Path]:
    paths = []
    for number, shade in enumerate(SHADES):
        path = tmp_path / f"{number}.png"
        path.write_bytes(cv2.imencode(".png", picture(shade, 64, 48))[1].tobytes())
        paths.append(path)
    return paths


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """Five frames at ten a second."""
    with VideoWriter(tmp_path / "film.mp4", width=64, height=48, frames_per_second=10) as writer:
        for shade in (*SHADES, 200):
            writer.write(picture(shade, 64, 48))
    return writer.path


def play(
    paths: list[Path],
    wish: CameraWish | None = None,
    *,
    pace: Literal["real", "fast"] = "fast",
    loop: bool = False,
    picture_seconds: float = 0.0,
    **more: Any,
) -> Camera:
    return open_replay(
        paths,
        wish or CameraWish(),
        pace=pace,
        loop=loop,
        picture_seconds=picture_seconds,
        buffers=4,
        **more,
    )


def shade(lease: FrameLease) -> float:
    return shade_of(lease.frame.pixels, lease.frame.pixel_format)


def shades(camera: Camera, most: int = 100) -> list[int]:
    """Of every frame until the end, in tens."""
    seen: list[int] = []
    while len(seen) < most:
        try:
            lease = camera.next(60.0)
        except CameraEnded:
            break
        assert lease is not None
        with lease:
            seen.append(round(shade(lease) / 10) * 10)
    return seen


@pytest.mark.parametrize("memory_bytes", [1 << 30, 1], ids=["in memory", "as it runs"])
def test_fast_gives_every_frame_and_then_says_that_it_is_over(
    stills: list[Path], film: Path, memory_bytes: int
) -> None:
    with play([*stills, film], memory_bytes=memory_bytes) as camera:
        assert shades(camera) == [*SHADES, *SHADES, 200]
        assert camera.counts.lent == 9
        assert camera.counts.overtaken == 0
        for _ in range(2):
            with pytest.raises(CameraEnded, match="over"):
                camera.next(60.0)


def test_fast_keeps_the_films_own_time(film: Path) -> None:
    clock = FilmClock()
    with play([film], loop=True, now_ns=lambda: clock.now_ns, sleep=clock.sleep) as camera:
        begin, seen = clock.now_ns, []
        for _ in range(7):
            lease = camera.next(0.0)
            assert lease is not None
            with lease:
                seen.append(lease.frame.captured_ns - begin)
            clock.sleep(1.0)  # however long the reader takes
        assert seen == [n * SECOND // 10 for n in range(7)]


@pytest.mark.parametrize("memory_bytes", [1 << 30, 1], ids=["in memory", "as it runs"])
def test_a_loop_begins_again_and_its_time_goes_on(stills: list[Path], memory_bytes: int) -> None:
    clock = FilmClock()
    begin = clock.now_ns
    with play(
        stills,
        CameraWish(frames_per_second=1.0),
        pace="real",
        loop=True,
        memory_bytes=memory_bytes,
        now_ns=lambda: clock.now_ns,
        sleep=clock.sleep,
    ) as camera:
        seen = []
        for _ in range(10):
            lease = camera.next(5.0)
            assert lease is not None
            with lease:
                frame = lease.frame
                seen.append((frame.sequence, (frame.captured_ns - begin) // SECOND, shade(lease)))
        assert [s[:2] for s in seen] == [(n, n) for n in range(10)]
        assert [round(s[2]) for s in seen[4:8]] == SHADES


def test_real_time_is_the_films_own(film: Path) -> None:
    clock = FilmClock()
    begin = clock.now_ns
    with play([film], pace="real", now_ns=lambda: clock.now_ns, sleep=clock.sleep) as camera:
        assert camera.description.frames_per_second == pytest.approx(10)
        clock.sleep(100.0)  # a film begins when it is first asked for
        seen = []
        for _ in range(5):
            lease = camera.next(1.0)
            assert lease is not None
            with lease:
                seen.append(lease.frame.captured_ns - begin - 100 * SECOND)
        assert seen == [0, SECOND // 10, SECOND // 5, 3 * SECOND // 10, 2 * SECOND // 5]
        assert clock.now_ns == begin + 100 * SECOND + seen[-1], "nobody waits longer than needed"


def test_a_late_reader_loses_frames_and_is_told_when_they_happened(film: Path) -> None:
    clock = FilmClock()
    with play([film], pace="real", now_ns=lambda: clock.now_ns, sleep=clock.sleep) as camera:
        begin = clock.now_ns
        lease = camera.next(0.0)
        assert lease is not None
        lease.release()
        assert camera.next(0.05) is None
        clock.sleep(0.3)  # 350 ms into the film
        lease = camera.next(0.0)
        assert lease is not None
        with lease:
            assert lease.frame.sequence == 3
            assert lease.frame.captured_ns == begin + 3 * SECOND // 10
            assert abs(shade(lease) - 160) < 6
        assert camera.counts.overtaken == 2


def test_a_decoder_that_never_catches_up_still_gives_frames(stills: list[Path]) -> None:
    clock = FilmClock()

    def slow() -> int:
        clock.now_ns += SECOND // 25  # every look at the clock finds more frames due
        return clock.now_ns

    with play(
        stills,
        CameraWish(frames_per_second=1000.0),
        pace="real",
        loop=True,
        memory_bytes=1,
        now_ns=slow,
        sleep=clock.sleep,
    ) as camera:
        for _ in range(3):
            lease = camera.next(0.0)
            assert lease is not None
            lease.release()


def test_pictures_stay_for_their_time(stills: list[Path]) -> None:
    with play(stills, CameraWish(frames_per_second=10.0), picture_seconds=0.3) as camera:
        assert shades(camera) == [shade for shade in SHADES for _ in range(3)]


@pytest.mark.parametrize("pixel_format", list(PixelFormat))
def test_every_format_of_a_camera_can_be_replayed(
    stills: list[Path], pixel_format: PixelFormat
) -> None:
    with play(stills, CameraWish(pixel_format=pixel_format.value)) as camera:
        assert camera.description.pixel_format is pixel_format
        assert camera.description.differences() == ()
        assert shades(camera) == SHADES


def test_what_a_replay_cannot_be_is_said(stills: list[Path]) -> None:
    with play(stills, CameraWish(pixel_format="MJPEG")) as camera:
        assert camera.description.pixel_format is PixelFormat.BGR
        assert camera.description.differences() == ("MJPEG asked, BGR given",)


@pytest.mark.parametrize(
    ("wish", "size"),
    [
        (CameraWish(), (64, 48)),
        (CameraWish(128, 128), (128, 128)),
        (CameraWish(width=128), (128, 96)),
        (CameraWish(height=24), (32, 24)),
    ],
)
def test_the_size_is_the_first_pictures_or_the_wish(
    stills: list[Path], wish: CameraWish, size: tuple[int, int]
) -> None:
    with play(stills, wish) as camera:
        assert (camera.description.width, camera.description.height) == size


def test_pictures_of_other_sizes_are_fitted_and_odd_ones_made_even(
    tmp_path: Path, stills: list[Path]
) -> None:
    odd = tmp_path / "odd.png"
    odd.write_bytes(cv2.imencode(".png", picture(100, 63, 47))[1].tobytes())
    with play([odd, *stills]) as camera:
        assert (camera.description.width, camera.description.height) == (62, 46)
        for _ in range(5):
            lease = camera.next(60.0)
            assert lease is not None
            with lease:
                assert lease.frame.pixels.shape == (46, 62, 3)


def test_an_animated_picture_is_a_film(shared_data: Path) -> None:
    path = shared_data / "video" / "intel_head-pose-female.gif"
    with play([path], CameraWish(pixel_format="NV12")) as camera:
        assert camera.description.frames_per_second == pytest.approx(12.5, rel=0.1)
        assert len(shades(camera)) == 23


def test_a_file_that_is_damaged_is_named_at_once(tmp_path: Path, stills: list[Path]) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(stills[0].read_bytes()[:40])
    with pytest.raises(PictureError, match=r"broken\.png"):
        play([*stills, broken])
    with play([*stills, broken], memory_bytes=1) as camera:
        seen = [camera.next(60.0) for _ in range(3)]
        for lease in seen:
            assert lease is not None
            lease.release()
        with pytest.raises(PictureError, match=r"broken\.png"):
            shades(camera)


def test_a_picture_that_stays_is_in_memory_once(stills: list[Path]) -> None:
    enough = 64 * 48 * 3 * len(stills)
    with play(
        stills, CameraWish(frames_per_second=30.0), picture_seconds=10.0, memory_bytes=enough
    ) as camera:
        first, second = camera.next(60.0), camera.next(60.0)
        assert first is not None
        assert second is not None
        with first, second:
            assert first.frame.pixels is second.frame.pixels


def test_fast_waits_for_a_buffer_that_somebody_brings_back(stills: list[Path]) -> None:
    with play(stills, loop=True) as camera:
        leases = [camera.next(60.0) for _ in range(4)]
        assert camera.next(0.0) is None
        first = leases.pop(0)
        assert first is not None
        thread = threading.Thread(target=first.release)
        thread.start()
        lease = camera.next(60.0)
        thread.join()
        assert lease is not None
        for held in (*leases, lease):
            assert held is not None
            held.release()


def test_frames_of_a_closed_replay_stay_as_they_were(stills: list[Path]) -> None:
    camera = play(stills)
    lease = camera.next(60.0)
    assert lease is not None
    frame = lease.frame
    lease.release()
    camera.close()
    assert np.all(frame.pixels == SHADES[0])
