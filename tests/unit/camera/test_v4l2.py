"""The V4L2 camera on a canned kernel: odd drivers, broken frames, refusals."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from edgefaced.camera.convert import planes_of
from edgefaced.camera.v4l2 import ioctl as v4l2
from edgefaced.camera.v4l2.canned import CannedCamera, CannedFormat, CannedKernel
from edgefaced.camera.v4l2.choice import WIRES
from edgefaced.camera.v4l2.device import open_v4l2
from edgefaced.camera.v4l2.kernel import Kernel
from edgefaced.errors import CameraBusy, CameraError, CameraLost
from edgefaced.protocols import Camera, CameraWish
from edgefaced.types import U8, PixelFormat

NODE = "/dev/video0"
SIZE = (64, 48)
SOON = 0.01
GREY: U8 = np.full((48, 64, 3), 120, np.uint8)
NV12 = planes_of(GREY, PixelFormat.NV12)
JPEG = cv2.imencode(".jpg", np.random.default_rng(1).integers(0, 255, (48, 64, 3), np.uint8))[
    1
].tobytes()

Change = Callable[[int, Any], None]


class OddKernel(CannedKernel):
    """A canned kernel whose answers to some calls are changed, before or after they are given."""

    def __init__(self, before: dict[int, Change], after: dict[int, Change]) -> None:
        super().__init__()
        self._before, self._after = before, after

    def ioctl(self, fd: int, request: int, argument: ctypes.Structure | ctypes.c_int) -> None:
        self._before.get(request, _leave)(fd, argument)
        super().ioctl(fd, request, argument)
        self._after.get(request, _leave)(fd, argument)


def _leave(fd: int, argument: Any) -> None:
    """The kernel as it is."""


def refuse(number: int) -> Change:
    def change(fd: int, argument: Any) -> None:
        raise OSError(number, os.strerror(number))

    return change


def canned(
    fourcc: str = "NV12",
    *,
    before: dict[int, Change] | None = None,
    after: dict[int, Change] | None = None,
    **quirks: Any,
) -> tuple[Kernel, CannedCamera]:
    kernel = OddKernel(before or {}, after or {})
    camera = CannedCamera([CannedFormat(fourcc, (SIZE,))], **quirks)
    kernel.plug_in(NODE, camera)
    return kernel, camera


def opened(kernel: Kernel, *holders: str, buffers: int = 4) -> Camera:
    wish = CameraWish(*SIZE, 30.0)
    return open_v4l2(
        Path(NODE), wish, buffers=buffers, kernel=kernel, holders=lambda device: holders
    )


def test_frames_that_the_driver_marks_or_cuts_short_are_passed_over_and_counted() -> None:
    kernel, device = canned()
    with opened(kernel) as camera:
        device.expose(NV12, damaged=True)
        device.expose(NV12, lost_bytes=1)
        assert camera.next(SOON) is None
        assert camera.counts.damaged == 2
        assert device.queued == 4
        device.expose(NV12)
        device.expose(NV12, damaged=True)
        lease = camera.next(SOON)  # a damaged one does not hide the good one before it
        assert lease is not None
        assert lease.frame.sequence == 2
        lease.release()
        assert device.queued == 4


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (JPEG[: len(JPEG) // 2], "cut off"),
        (JPEG[: len(JPEG) // 2] + JPEG, "another frame's beginning inside"),
        (b"", "nothing"),
        (b"\0" * 100, "no JPEG"),
        (cv2.imencode(".jpg", GREY[:24])[1].tobytes(), "another size"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_jpegs_are_passed_over_and_counted(data: bytes, why: str) -> None:
    kernel, device = canned("MJPG")
    with opened(kernel) as camera:
        device.expose(data)
        assert camera.next(SOON) is None, why
        assert camera.counts.damaged == 1
        assert device.queued == 4
        device.expose(JPEG)
        lease = camera.next(SOON)
        assert lease is not None
        assert lease.copied_bytes == len(JPEG), "not decoded before somebody looks"
        assert lease.frame.pixels.shape == (48, 64, 3)
        assert lease.copied_bytes == len(JPEG) + 64 * 48 * 3
        assert device.queued == 4, "a decoded frame holds no buffer"
        lease.release()


def test_frames_lost_while_every_buffer_was_out_are_missed() -> None:
    kernel, device = canned()
    with opened(kernel) as camera:
        leases = []
        for _ in range(4):
            device.expose(NV12)
            leases.append(camera.next(SOON))
        for _ in range(5):
            assert not device.expose(NV12)
        for lease in leases:
            assert lease is not None
            lease.release()
        device.expose(NV12)
        lease = camera.next(SOON)
        assert lease is not None
        with lease:
            assert lease.frame.sequence == 9
        assert camera.counts.missed == 5
        assert camera.counts.lent == 5


def test_a_driver_that_does_not_count_or_begins_anew_does_not_stop_our_count() -> None:
    numbers = iter([7, 7, 7, 2, 3, 2**32 - 1, 0])

    def count(fd: int, buffer: Any) -> None:
        buffer.sequence = next(numbers)

    kernel, device = canned(after={v4l2.DQBUF: count})
    with opened(kernel) as camera:
        seen = []
        for _ in range(7):
            device.expose(NV12)
            lease = camera.next(SOON)
            assert lease is not None
            seen.append(lease.frame.sequence)
            lease.release()
        assert seen == list(range(7))
        assert camera.counts.missed == 0


@pytest.mark.parametrize(
    ("monotonic", "age_ns"),
    [(True, 50_000_000), (False, 50_000_000), (True, 60_000_000_000), (True, -60_000_000_000)],
    ids=["monotonic", "another clock", "long ago", "in the future"],
)
def test_the_drivers_stamp_is_used_where_it_can_be_true(monotonic: bool, age_ns: int) -> None:
    kernel, device = canned(monotonic=monotonic)
    with opened(kernel) as camera:
        before = time.monotonic_ns()
        device.expose(NV12, age_ns=age_ns)
        between = time.monotonic_ns()
        lease = camera.next(SOON)
        assert lease is not None
        after = time.monotonic_ns()
        with lease:
            captured = lease.frame.captured_ns
        if monotonic and age_ns == 50_000_000:
            # V4L2 stamps in microseconds.
            assert before - age_ns - 1000 <= captured <= between - age_ns
        else:
            assert between <= captured <= after


@pytest.mark.parametrize("fourcc", ["NV12", "NM12", "YUYV"])
def test_a_frame_may_begin_inside_its_memory(fourcc: str) -> None:
    kernel, device = canned(fourcc, planar=True, padding=4, offset=32)
    picture = planes_of(GREY, WIRES[fourcc].pixel_format)
    with opened(kernel) as camera:
        device.expose(picture, lost_bytes=1)
        assert camera.next(SOON) is None, "what precedes the frame is no part of it"
        device.expose(picture)
        lease = camera.next(SOON)
        assert lease is not None
        with lease:
            np.testing.assert_array_equal(lease.frame.pixels, picture.pixels)


def test_a_camera_that_is_busy_says_who_has_it() -> None:
    kernel, device = canned()
    device.busy = True
    with pytest.raises(CameraBusy, match=r"/dev/video0: setting the format.*cheese \(12\)"):
        opened(kernel, "cheese (12)")
    with pytest.raises(CameraBusy, match="another program"):
        opened(kernel)
    assert device.users == 0
    device.busy = False
    with opened(kernel), pytest.raises(CameraBusy):
        opened(kernel)
    assert device.users == 0


def test_a_camera_that_is_forbidden_says_which_group_may() -> None:
    kernel, device = canned()
    device.forbidden = True
    with pytest.raises(CameraError, match=r"opening: Permission denied.*group `video`"):
        opened(kernel)


def test_a_node_that_is_not_there_is_lost() -> None:
    with pytest.raises(CameraLost, match="No such file"):
        opened(CannedKernel())


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({}, {v4l2.QUERYCAP: "no_capture"}, "no camera that streams"),
        ({}, {v4l2.S_FMT: "other_format"}, "insists on 64x48 H264"),
        ({}, {v4l2.S_FMT: "odd_size"}, "odd size"),
        ({}, {v4l2.S_FMT: "small_buffer"}, "bytes in 1 pieces"),
        ({}, {v4l2.REQBUFS: "one_buffer"}, "memory for 1 frames"),
        ({}, {v4l2.QUERYBUF: "short_memory"}, "holds 4096 of 4608 bytes"),
        ({v4l2.STREAMON: "io_error"}, {}, "starting: Input/output error"),
        ({v4l2.EXPBUF: "io_error"}, {}, "starting"),
        ({v4l2.S_FMT: "io_error"}, {}, "setting the format"),
        ({v4l2.QUERYCAP: "no_such_call"}, {}, "asking what it is"),
        ({v4l2.G_PARM: "io_error"}, {}, "setting the format"),
        ({v4l2.ENUM_FMT: "io_error"}, {}, "asking what it is"),
    ],
)
def test_a_driver_that_cannot_be_used_is_one_line_and_nothing_stays_open(
    before: dict[int, str], after: dict[int, str], words: str
) -> None:
    def no_capture(fd: int, answer: Any) -> None:
        answer.device_caps = v4l2.CAP_STREAMING

    def other_format(fd: int, asked: Any) -> None:
        asked.fmt.pix.pixelformat = v4l2.code_of("H264")

    def odd_size(fd: int, asked: Any) -> None:
        asked.fmt.pix.width = 63

    def small_buffer(fd: int, asked: Any) -> None:
        asked.fmt.pix.sizeimage = 10

    def one_buffer(fd: int, asked: Any) -> None:
        asked.count = min(asked.count, 1)

    def short_memory(fd: int, answer: Any) -> None:
        answer.length = 4096

    changes: dict[str, Change] = {
        "short_memory": short_memory,
        "no_capture": no_capture,
        "other_format": other_format,
        "odd_size": odd_size,
        "small_buffer": small_buffer,
        "one_buffer": one_buffer,
        "io_error": refuse(errno.EIO),
        "no_such_call": refuse(errno.ENOTTY),
    }
    kernel, device = canned(
        before={call: changes[name] for call, name in before.items()},
        after={call: changes[name] for call, name in after.items()},
    )
    with pytest.raises(CameraError, match=words) as caught:
        opened(kernel)
    assert "\n" not in str(caught.value)
    assert device.users == 0


def test_a_driver_without_rates_sizes_or_dma_still_gives_frames() -> None:
    kernel, device = canned(
        before={
            v4l2.G_PARM: refuse(errno.ENOTTY),
            v4l2.ENUM_FRAMESIZES: refuse(errno.ENOTTY),
            v4l2.ENUM_FRAMEINTERVALS: refuse(errno.ENOTTY),
            v4l2.EXPBUF: refuse(errno.ENOTTY),
        },
    )
    with opened(kernel) as camera:
        assert camera.description.frames_per_second is None
        assert not camera.description.dma
        device.expose(NV12)
        lease = camera.next(SOON)
        assert lease is not None
        assert lease.frame.buffer is None
        lease.release()


def test_rows_without_a_stated_stride_are_packed() -> None:
    def mute(fd: int, asked: Any) -> None:
        asked.fmt.pix.bytesperline = 0

    kernel, device = canned(after={v4l2.S_FMT: mute})
    with opened(kernel) as camera:
        device.expose(NV12)
        lease = camera.next(SOON)
        assert lease is not None
        with lease:
            assert lease.frame.pixels.strides == (64, 1)


def test_ranges_of_sizes_and_rates_are_understood() -> None:
    def sizes(fd: int, answer: Any) -> None:
        answer.type = 3
        answer.stepwise = v4l2.FrmSizeStepwise(16, 640, 8, 16, 480, 8)

    def rates(fd: int, answer: Any) -> None:
        answer.type = 2
        answer.stepwise = v4l2.FrmIvalStepwise(
            v4l2.Fract(1, 60), v4l2.Fract(1, 1), v4l2.Fract(1, 60)
        )

    kernel, _ = canned(after={v4l2.ENUM_FRAMESIZES: sizes, v4l2.ENUM_FRAMEINTERVALS: rates})
    with opened(kernel) as camera:
        assert (camera.description.width, camera.description.height) == SIZE


def test_old_drivers_name_their_abilities_in_one_place() -> None:
    def old(fd: int, answer: Any) -> None:
        answer.capabilities, answer.device_caps = answer.device_caps, 0

    kernel, _ = canned(after={v4l2.QUERYCAP: old})
    opened(kernel).close()


def test_a_buffer_that_cannot_be_given_back_is_said_by_the_next_call() -> None:
    asked: list[int] = []

    def refuse_later(fd: int, buffer: Any) -> None:
        asked.append(buffer.index)
        if len(asked) > 4:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    kernel, device = canned(before={v4l2.QBUF: refuse_later})
    with opened(kernel) as camera:
        device.expose(NV12)
        lease = camera.next(SOON)
        assert lease is not None
        lease.release()  # has nobody to tell
        with pytest.raises(CameraError, match="Invalid argument"):
            camera.next(SOON)


def test_a_stream_that_has_failed_is_lost_and_not_waited_for() -> None:
    kernel, device = canned(before={v4l2.DQBUF: refuse(errno.EIO)})
    with opened(kernel) as camera, pytest.raises(CameraLost, match="given up"):
        camera.next(60.0 if device.expose(NV12) else SOON)


def test_a_source_that_changes_its_size_is_opened_again_with_other_buffers() -> None:
    kernel, device = canned()
    with opened(kernel) as camera:
        device.expose(NV12)
        lease = camera.next(SOON)
        assert lease is not None
        device.change_source(32, 24)
        lease.release()
        with pytest.raises(CameraError, match="the picture's size has changed"):
            camera.next(3600.0)
    with opened(kernel) as camera:
        assert (camera.description.width, camera.description.height) == (32, 24)
        device.expose(planes_of(GREY[:24, :32], PixelFormat.NV12))
        lease = camera.next(SOON)
        assert lease is not None
        assert (lease.frame.width, lease.frame.height) == (32, 24)
        lease.release()
    assert device.users == 0


def test_a_driver_without_news_of_its_source_is_a_camera_all_the_same() -> None:
    kernel, device = canned(before={v4l2.SUBSCRIBE_EVENT: refuse(errno.ENOTTY)})
    with opened(kernel) as camera:
        device.change_source(32, 24)
        assert camera.next(SOON) is None
    broken, _ = canned(before={v4l2.DQEVENT: refuse(errno.ENODEV)})
    with opened(broken) as camera:
        assert camera.next(SOON) is None


class HungUp(CannedKernel):
    """Descriptors of a pipe whose other end is gone: poll says so, and there is never a frame."""

    def __init__(self) -> None:
        super().__init__()
        self._behind: dict[int, int] = {}

    def open(self, path: str) -> int:
        real = super().open(path)
        reading, writing = os.pipe()
        os.close(writing)
        self._behind[reading] = real
        return reading

    def close(self, fd: int) -> None:
        super().close(self._behind.pop(fd))
        os.close(fd)

    def ioctl(self, fd: int, request: int, argument: ctypes.Structure | ctypes.c_int) -> None:
        super().ioctl(self._behind[fd], request, argument)

    def map(self, fd: int, length: int, offset: int) -> mmap.mmap:
        return super().map(self._behind[fd], length, offset)


def test_a_node_that_hangs_up_is_lost_at_once() -> None:
    kernel = HungUp()
    kernel.plug_in(NODE, CannedCamera([CannedFormat("NV12", (SIZE,))]))
    with opened(kernel) as camera, pytest.raises(CameraLost, match="given up"):
        camera.next(3600.0)


def test_unplugging_wakes_whoever_waits() -> None:
    kernel, device = canned()
    with opened(kernel) as camera:
        device.unplug()
        with pytest.raises(CameraLost, match="No such device"):
            camera.next(3600.0)


def test_dma_descriptors_are_the_same_memory() -> None:
    kernel, device = canned()
    with opened(kernel) as camera:
        device.expose(NV12)
        lease = camera.next(SOON)
        assert lease is not None
        with lease:
            buffer = lease.frame.buffer
            assert buffer is not None
            assert (buffer.offset, buffer.stride) == (0, 64)
            assert buffer.size_bytes >= 64 * 48 * 3 // 2
            with mmap.mmap(buffer.fd, 64 * 48 * 3 // 2, prot=mmap.PROT_READ) as memory:
                assert memory[: 64 * 48] == lease.frame.pixels.tobytes()


def test_a_frame_kept_after_closing_stays_readable_and_then_frees_its_memory() -> None:
    kernel, device = canned()
    before = len(list(Path("/proc/self/fd").iterdir()))
    camera = opened(kernel)
    device.expose(NV12)
    lease = camera.next(SOON)
    assert lease is not None
    kept = lease.frame
    lease.release()
    camera.close()
    assert int(kept.pixels[0, 0]) == int(NV12.pixels[0, 0])
    del kept, lease, camera
    assert len(list(Path("/proc/self/fd").iterdir())) == before
