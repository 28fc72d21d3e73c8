"""What every camera keeps, whatever is behind it: files, a kernel, or a library."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from camera_rigs import Rig, picamera2_rig, replay_rig, shade_of, v4l2_rig

from edgefaced.errors import CameraError, CameraLost, LeaseError
from edgefaced.protocols import Camera, FrameLease
from edgefaced.types import Frame, PixelFormat

SOON = 0.01
"""Long enough for a frame that has already happened, too short to wait for."""

RIGS: dict[str, Callable[[Path], Rig]] = {
    "replay BGR": lambda folder: replay_rig(folder, PixelFormat.BGR),
    "replay NV12, decoded as it runs": lambda f: replay_rig(f, PixelFormat.NV12, streamed=True),
    "v4l2 NV12": lambda _: v4l2_rig("NV12"),
    "v4l2 NV12 in two pieces": lambda _: v4l2_rig("NM12", planar=True, padding=64),
    "v4l2 I420 multi-planar": lambda _: v4l2_rig("YU12", planar=True, padding=32),
    "v4l2 YUYV padded, no DMA-BUF": lambda _: v4l2_rig("YUYV", padding=24, exports=False),
    "v4l2 RGB": lambda _: v4l2_rig("RGB3"),
    "v4l2 MJPEG": lambda _: v4l2_rig("MJPG"),
    "picamera2 BGR and small I420": lambda _: picamera2_rig(1280, 720, PixelFormat.BGR),
    "picamera2 I420 padded": lambda _: picamera2_rig(320, 240, PixelFormat.I420, padding=64),
}


@pytest.fixture(params=RIGS, ids=str)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    return RIGS[request.param](tmp_path)


def take(camera: Camera) -> FrameLease:
    lease = camera.next(SOON)
    assert lease is not None
    return lease


def shade(frame: Frame) -> float:
    return shade_of(frame.pixels, frame.pixel_format)


def descriptors() -> set[str]:
    return {str(link) for link in Path("/proc/self/fd").iterdir()}


def test_frames_are_as_described(rig: Rig) -> None:
    with rig.open() as camera:
        what = camera.description
        assert what.name
        assert what.device
        assert what.buffers >= 4
        assert what.frames_per_second
        assert what.native in {*PixelFormat, "MJPEG"}
        rig.happen(80)
        with take(camera) as lease:
            glance, frame, small = lease.glance, lease.frame, lease.small
            assert abs(shade(glance) - 80) < 2
            assert (glance.sequence, glance.captured_ns) == (frame.sequence, frame.captured_ns)
            assert (frame.width, frame.height) == (what.width, what.height)
            assert frame.pixel_format is what.pixel_format
            assert abs(shade(frame) - 80) < 2
            assert abs(shade(small) - 80) < 2
            assert small.captured_ns == frame.captured_ns
            assert small.sequence == frame.sequence
            assert small.width * frame.height == frame.width * small.height
            assert (frame.buffer is not None) == what.dma
            assert (lease.copied_bytes > 0) == (what.native == "MJPEG")


def test_no_frame_in_time_is_none(rig: Rig) -> None:
    with rig.open() as camera:
        assert camera.next(0.0) is None
        assert camera.next(SOON) is None
        rig.happen(60)
        take(camera).release()
        assert camera.next(SOON) is None


def test_a_frame_happened_before_it_was_handed_out_and_after_the_one_before(rig: Rig) -> None:
    with rig.open() as camera:
        seen = []
        for number in (50, 60, 70):
            rig.happen(number)
            with take(camera) as lease:
                assert 0 <= rig.now_ns() - lease.frame.captured_ns < 10_000_000_000
                seen.append((lease.frame.sequence, lease.frame.captured_ns))
        assert seen == sorted(set(seen))


def test_the_newest_frame_wins(rig: Rig) -> None:
    with rig.open() as camera:
        rig.happen(40)
        with take(camera) as lease:
            first = lease.frame.sequence
        before = camera.counts
        rig.happen(90)
        rig.happen(100)
        rig.happen(150)
        with take(camera) as lease:
            assert abs(shade(lease.frame) - 150) < 2
            gap = lease.frame.sequence - first
        assert gap >= 3
        lost = camera.counts.overtaken + camera.counts.missed - before.overtaken - before.missed
        assert lost == gap - 1
        assert camera.next(SOON) is None


def test_a_lease_is_released_once_and_not_read_afterwards(rig: Rig) -> None:
    with rig.open() as camera:
        rig.happen(70)
        lease = take(camera)
        lease.release()
        with pytest.raises(LeaseError, match="twice"):
            lease.release()
        with pytest.raises(LeaseError, match="released"):
            _ = lease.frame


def test_three_leases_at_once_keep_their_pictures(rig: Rig) -> None:
    with rig.open() as camera:
        leases = []
        for number in (40, 100, 160):
            rig.happen(number)
            leases.append(take(camera))
        for lease, number in zip(leases, (40, 100, 160), strict=True):
            assert abs(shade(lease.frame) - number) < 2
            assert abs(shade(lease.small) - number) < 2
        for lease in reversed(leases):
            lease.release()


def test_with_every_buffer_on_loan_no_frame_comes_until_one_is_back(rig: Rig) -> None:
    if not rig.holds_buffers:
        pytest.skip("decoded frames hold no buffer")
    with rig.open() as camera:
        leases = []
        for turn in range(camera.description.buffers):
            rig.happen(40 + 10 * turn)
            leases.append(take(camera))
        rig.happen(100)
        assert camera.next(SOON) is None
        leases[0].release()
        rig.happen(120)
        with take(camera) as lease:
            assert abs(shade(lease.frame) - 120) < 2
        for lease in leases[1:]:
            assert lease.frame.width == camera.description.width
            lease.release()


def test_another_thread_may_release(rig: Rig) -> None:
    with rig.open() as camera:
        rig.happen(70)
        lease = take(camera)
        assert not camera.settled(0.0)
        thread = threading.Thread(target=lease.release)
        thread.start()
        assert camera.settled(60.0)
        thread.join()


def test_frames_cannot_be_written_into(rig: Rig) -> None:
    with rig.open() as camera:
        rig.happen(70)
        with take(camera) as lease:
            for plane in (lease.frame.pixels, *lease.frame.chroma, lease.small.pixels):
                with pytest.raises(ValueError, match="read-only"):
                    plane[0, 0] = 1


def test_closing_with_leases_out_is_reported_and_crashes_nobody(rig: Rig) -> None:
    camera = rig.open()
    rig.happen(70)
    lease = take(camera)
    kept = lease.frame
    rig.happen(90)
    second = take(camera)
    with pytest.raises(LeaseError, match="2 frames were on loan"):
        camera.close()
    camera.close()
    for plane in (kept.pixels, *kept.chroma, lease.frame.pixels):
        assert np.isfinite(plane.astype(float).sum())  # the memory is there
    lease.release()
    second.release()
    with pytest.raises(LeaseError, match="twice"):
        lease.release()


def test_another_error_is_not_hidden_by_a_lease_that_is_out(rig: Rig) -> None:
    def leak(after: Callable[[], object]) -> None:
        with rig.open() as camera:
            rig.happen(70)
            take(camera)
            after()

    def stumble() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        leak(stumble)
    with pytest.raises(LeaseError, match="1 frame was on loan"):
        leak(gc.collect)


def test_a_closed_camera_gives_no_frame_and_can_be_opened_again(rig: Rig) -> None:
    camera = rig.open()
    camera.close()
    camera.close()
    with pytest.raises(CameraError, match="closed"):
        camera.next(SOON)
    with rig.open() as camera:
        rig.happen(110)
        take(camera).release()


def test_a_camera_that_is_gone_is_said_so_and_comes_back(rig: Rig) -> None:
    if rig.unplug is None:
        pytest.skip("files are not unplugged")
    with rig.open() as camera:
        rig.happen(70)
        lease = take(camera)
        rig.unplug()
        lease.release()
        with pytest.raises(CameraLost):
            camera.next(SOON)
        with pytest.raises(CameraLost):
            camera.next(SOON)
    with rig.open() as camera:
        rig.happen(70)
        take(camera).release()


def test_nothing_is_left_open(rig: Rig) -> None:
    rig.open().close()
    gc.collect()
    before, threads = descriptors(), threading.active_count()
    for _ in range(3):
        with rig.open() as camera:
            rig.happen(70)
            with take(camera) as lease:
                frame = lease.frame
        del camera, lease, frame
    gc.collect()
    assert descriptors() == before
    assert threading.active_count() == threads
