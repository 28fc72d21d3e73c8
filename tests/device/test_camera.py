"""A real camera keeps the contract: run by hand on a board.

    EDGEFACED_TEST_CAMERA=v4l2: pytest tests/device            # the first camera of the kernel
    EDGEFACED_TEST_CAMERA=v4l2:C920 pytest tests/device        # by node, name or label
    EDGEFACED_TEST_CAMERA=picamera2: pytest tests/device

EDGEFACED_TEST_CAMERA_FORMAT asks for a pixel format, EDGEFACED_TEST_CAMERA_SIZE for "640x480".
"""

from __future__ import annotations

import gc
import mmap
import os
from pathlib import Path

import numpy as np
import pytest

from edgefaced.camera.choose import open_camera
from edgefaced.config.sections import CameraSection
from edgefaced.errors import LeaseError
from edgefaced.protocols import Camera, FrameLease

PATIENCE_SECONDS = 10.0
"""A sensor needs a while for its first frame."""


@pytest.fixture
def section() -> CameraSection:
    named = os.environ.get("EDGEFACED_TEST_CAMERA")
    if named is None:
        pytest.skip("no camera named: set EDGEFACED_TEST_CAMERA")
    kind, _, device = named.partition(":")
    width, _, height = os.environ.get("EDGEFACED_TEST_CAMERA_SIZE", "").partition("x")
    return CameraSection.model_validate(
        {
            "kind": kind,
            "device": device or None,
            "pixel_format": os.environ.get("EDGEFACED_TEST_CAMERA_FORMAT"),
            "width_px": width or None,
            "height_px": height or None,
        }
    )


def take(camera: Camera) -> FrameLease:
    lease = camera.next(PATIENCE_SECONDS)
    assert lease is not None, "no frame"
    return lease


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_frames_come_as_described_and_in_order(section: CameraSection) -> None:
    with open_camera(section) as camera:
        what = camera.description
        print(what, *what.differences(), sep="\n  ")  # noqa: T201 - whoever runs it wants to see
        last = (-1, 0)
        for _ in range(60):
            with take(camera) as lease:
                frame = lease.frame
                assert (frame.width, frame.height) == (what.width, what.height)
                assert frame.pixel_format is what.pixel_format
                assert (frame.sequence, frame.captured_ns) > last
                assert not frame.pixels.flags.writeable
                assert (frame.buffer is not None) == what.dma
                last = (frame.sequence, frame.captured_ns)
        assert frame.pixels.std() > 0, "the lens cap?"
        print(camera.counts)  # noqa: T201


def test_the_dma_buffer_is_the_frame(section: CameraSection) -> None:
    with open_camera(section) as camera:
        if not camera.description.dma:
            pytest.skip("this camera exports no DMA-BUF")
        with take(camera) as lease:
            buffer = lease.frame.buffer
            assert buffer is not None
            assert os.lseek(buffer.fd, 0, os.SEEK_END) >= buffer.size_bytes
            with mmap.mmap(buffer.fd, buffer.size_bytes, prot=mmap.PROT_READ) as memory:
                flat = np.frombuffer(memory, np.uint8)
                rows = lease.frame.pixels[:2].reshape(2, -1)
                for number, row in enumerate(rows):
                    start = buffer.offset + number * buffer.stride
                    assert np.array_equal(flat[start : start + row.size], row)
                del flat


def test_three_leases_at_once_and_no_frame_while_all_are_out(section: CameraSection) -> None:
    with open_camera(section) as camera:
        leases = [take(camera) for _ in range(3)]
        assert len({lease.frame.sequence for lease in leases}) == 3
        while len(leases) < camera.description.buffers:
            lease = camera.next(1.0)
            if lease is None:
                break
            leases.append(lease)
        if lease is not None and camera.description.native != "MJPEG":
            assert camera.next(1.0) is None
        for lease in leases:
            lease.release()
        take(camera).release()


def test_it_opens_again_and_leaves_nothing_open(section: CameraSection) -> None:
    held = []
    for _ in range(4):
        with open_camera(section) as camera:
            take(camera).release()
        del camera
        gc.collect()  # a library may leave its objects to the collector
        held.append(descriptors())
    assert held[1:] == held[:1] * 3


def test_a_frame_outlives_its_camera(section: CameraSection) -> None:
    camera = open_camera(section)
    lease = take(camera)
    frame = lease.frame
    with pytest.raises(LeaseError):
        camera.close()
    assert frame.pixels.astype(np.uint32).sum() > 0
    lease.release()
