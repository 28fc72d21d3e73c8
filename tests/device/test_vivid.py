"""Faults that the kernel's virtual camera (vivid) can be told to have; see tests/system/vm."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgefaced.camera.choose import DEV, SYSFS, open_camera
from edgefaced.camera.v4l2 import ioctl as v4l2
from edgefaced.camera.v4l2.device import open_v4l2
from edgefaced.camera.v4l2.kernel import LinuxKernel
from edgefaced.camera.v4l2.names import find_node
from edgefaced.camera.v4l2.offers import identify
from edgefaced.config.sections import CameraSection
from edgefaced.errors import CameraBusy, CameraError, CameraLost
from edgefaced.protocols import Camera, CameraWish, FrameLease

PATIENCE_SECONDS = 10.0
DRIVER = Path("/sys/bus/platform/drivers/vivid")


@pytest.fixture
def device() -> str:
    named = os.environ.get("EDGEFACED_TEST_CAMERA", "")
    if "vivid" not in named or shutil.which("v4l2-ctl") is None:
        pytest.skip("no virtual camera: EDGEFACED_TEST_CAMERA=v4l2:vivid-000, and v4l2-ctl")
    return named.partition(":")[2]


@pytest.fixture
def camera(device: str) -> Iterator[Camera]:
    with opened(device) as camera:
        yield camera


def opened(device: str) -> Camera:
    return open_camera(CameraSection(device=device, width_px=640, height_px=360))


def take(camera: Camera) -> FrameLease:
    lease = camera.next(PATIENCE_SECONDS)
    assert lease is not None
    return lease


def read_on(camera: Camera) -> None:
    """More frames than any fault takes to show."""
    for _ in range(100):
        take(camera).release()


def control(device: str, name: str, value: int = 1) -> None:
    node = find_node(device, dev=DEV, sysfs=SYSFS)
    subprocess.run(["v4l2-ctl", "-d", node, "-c", f"{name}={value}"], check=True)


def test_frames_that_the_driver_marks_are_counted(camera: Camera, device: str) -> None:
    take(camera).release()
    for _ in range(3):
        control(device, "inject_v4l2_buf_flag_error")
        for _ in range(5):
            take(camera).release()
    assert camera.counts.damaged == 3


def test_frames_that_the_driver_drops_are_gaps(camera: Camera, device: str) -> None:
    take(camera).release()
    control(device, "percentage_of_dropped_buffers", 50)
    for _ in range(30):
        take(camera).release()
    control(device, "percentage_of_dropped_buffers", 0)
    assert camera.counts.missed > 0
    assert camera.counts.damaged == 0


def test_a_stream_that_fails_is_lost_and_can_be_opened_again(camera: Camera, device: str) -> None:
    take(camera).release()
    control(device, "inject_fatal_streaming_error")
    with pytest.raises(CameraLost, match="given up"):
        read_on(camera)
    camera.close()
    with opened(device) as again:
        take(again).release()


def test_a_second_reader_is_told_who_has_it(camera: Camera, device: str) -> None:
    take(camera).release()
    with pytest.raises(CameraBusy):
        opened(device)
    node = find_node(device, dev=DEV, sysfs=SYSFS)
    camera.close()
    with subprocess.Popen(
        ["v4l2-ctl", "-d", node, "--stream-mmap", "--stream-count=1000000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as other:
        assert other.stderr is not None
        other.stderr.read(1)  # it reports its first frame: it streams
        with pytest.raises(CameraBusy, match=r"v4l2-ctl \(\d+\)"):
            opened(device)
        other.kill()
    with opened(device) as again:
        take(again).release()


@pytest.mark.parametrize("call", ["reqbufs", "streamon"])
def test_a_start_that_fails_leaves_the_camera_free(device: str, call: str) -> None:
    control(device, f"inject_vidioc_{call}_error")
    with pytest.raises(CameraError, match="starting"):
        opened(device)
    with opened(device) as camera:
        take(camera).release()


class WithoutNv12(LinuxKernel):
    """Hides the format in one piece, so that the one in two is asked for."""

    def ioctl(self, fd: int, request: int, argument: Any) -> None:
        super().ioctl(fd, request, argument)
        if request == v4l2.ENUM_FMT and argument.pixelformat == v4l2.code_of("NV12"):
            argument.pixelformat = v4l2.code_of("none")


def multi_planar(node: Path) -> bool:
    kernel = LinuxKernel()
    fd = kernel.open(str(node))
    try:
        return identify(kernel, fd).buffer_type == v4l2.BUF_TYPE_CAPTURE_MPLANE
    finally:
        kernel.close(fd)


def test_a_frame_in_two_pieces_of_memory(device: str) -> None:
    node = find_node(device, dev=DEV, sysfs=SYSFS)
    wish = CameraWish(640, 360, pixel_format="NV12")
    if not multi_planar(node):
        with pytest.raises(CameraError, match="gives no NV12"):
            open_v4l2(node, wish, buffers=4, kernel=WithoutNv12())
        return
    with open_v4l2(node, wish, buffers=4, kernel=WithoutNv12()) as camera, take(camera) as lease:
        assert lease.frame.chroma[0].shape == (180, 320, 2)
        assert lease.frame.chroma[0].std() > 0
        assert lease.frame.buffer is None


def test_a_driver_that_is_taken_away_loses_the_camera_and_returns(device: str) -> None:
    camera = opened(device)
    kept, lease = take(camera), take(camera)
    frame = kept.frame
    lease.release()
    (DRIVER / "unbind").write_text("vivid.0")
    with pytest.raises(CameraLost, match="No such device"):
        read_on(camera)
    assert frame.pixels.any(), "the memory is still there"
    kept.release()
    camera.close()
    with pytest.raises(CameraLost, match="is not there"):
        opened(device)
    del frame, kept, lease, camera
    (DRIVER / "bind").write_text("vivid.0")
    with opened(device) as again:
        take(again).release()
