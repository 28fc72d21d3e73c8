"""The Raspberry Pi's camera on a module like picamera2."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from camera_rigs import picture
from fake_picamera2 import FakeCamera, FakeLibrary

from edgefaced.camera.convert import planes_of
from edgefaced.camera.picamera2 import within
from edgefaced.camera.picamera2_open import open_picamera2, small_size
from edgefaced.errors import CameraBusy, CameraError, CameraLost, DependencyMissing
from edgefaced.protocols import Camera, CameraWish
from edgefaced.types import PixelFormat

SOON = 0.01
HD = CameraWish(1280, 720, 10.0)
MAIN = planes_of(picture(80, 1280, 720), PixelFormat.BGR)
SMALL = planes_of(picture(80, 640, 360), PixelFormat.I420)


def opened(library: FakeLibrary, wish: CameraWish = HD, device: str | None = None) -> Camera:
    return open_picamera2(device, wish, buffers=4, library=library)


def when_asked(library: FakeLibrary, **frame: Any) -> None:
    """The sensor's next frame comes with the next question."""

    def expose(camera: FakeCamera) -> None:
        library.asked = lambda camera: None
        library.happen(MAIN, SMALL, **frame)

    library.asked = expose


def test_the_library_is_asked_for_what_a_low_delay_needs() -> None:
    library = FakeLibrary()
    with opened(library) as camera:
        (asked,) = library.configurations
        assert asked["main"] == {"format": "RGB888", "size": (1280, 720)}
        assert asked["lores"] == {"format": "YUV420", "size": (640, 360)}
        assert asked["queue"] is False
        assert asked["raw"] is None
        assert asked["buffer_count"] == camera.description.buffers == 6
        assert asked["controls"] == {"FrameDurationLimits": (100_000, 100_000)}
        assert asked["display"] is asked["encode"] is None
        assert camera.description.name == "imx708"
        assert camera.description.frames_per_second == 10
        assert camera.description.differences() == ()


def test_the_small_frame_is_the_second_stream_of_the_same_request() -> None:
    library = FakeLibrary(padding=64)
    with opened(library) as camera:
        when_asked(library)
        lease = camera.next(SOON)
        assert lease is not None
        with lease:
            frame, small = lease.frame, lease.small
            assert (small.pixel_format, small.width, small.height) == (PixelFormat.I420, 640, 360)
            assert frame.pixels.strides[0] > 3 * 1280
            assert small.chroma[0].strides[0] * 2 == small.pixels.strides[0]
            np.testing.assert_array_equal(frame.pixels, MAIN.pixels)
            for seen, given in zip(small.chroma, SMALL.chroma, strict=True):
                np.testing.assert_array_equal(seen, given)
            assert frame.buffer is not None
            assert small.buffer is not None
            assert frame.buffer.fd != small.buffer.fd
            assert frame.buffer.stride == frame.pixels.strides[0]
            assert small.buffer.stride == small.pixels.strides[0]
            assert lease.copied_bytes == 0


def test_a_camera_of_one_stream_is_asked_for_one() -> None:
    library = FakeLibrary()
    library.streams = 1
    with opened(library) as camera:
        assert library.configurations[0]["lores"] is None
        when_asked(library)
        lease = camera.next(SOON)
        assert lease is not None
        with lease:
            assert lease.small is lease.frame


def test_rgb888_is_blue_green_red_in_memory() -> None:
    library = FakeLibrary()
    for wished, asked in (("BGR", "RGB888"), ("RGB", "BGR888"), (None, "RGB888")):
        with opened(library, CameraWish(320, 240, pixel_format=wished)) as camera:
            assert library.configurations[-1]["main"]["format"] == asked
            assert camera.description.pixel_format.value == (wished or "BGR")


def test_a_request_is_released_once_and_used_again() -> None:
    library = FakeLibrary()
    with opened(library) as camera:
        (inner,) = library.open_cameras
        for _ in range(20):
            when_asked(library)
            lease = camera.next(SOON)
            assert lease is not None
            assert len(inner.free) == 5
            lease.release()
            assert len(inner.free) == 6


def test_frames_that_the_sensor_marks_are_passed_over_and_counted() -> None:
    library = FakeLibrary()
    with opened(library) as camera:
        when_asked(library, ok=False)
        assert camera.next(SOON) is None
        assert camera.counts.damaged == 1
        assert len(library.open_cameras[0].free) == 6


def test_an_answer_that_lay_too_long_is_dropped_for_the_next_frame() -> None:
    library = FakeLibrary()
    with opened(library, CameraWish(1280, 720, 0.1)) as camera:
        assert camera.next(0.0) is None  # the question stays open
        library.happen(MAIN, SMALL, age_ns=20_000_000_000)
        assert camera.next(0.0) is None
        assert len(library.open_cameras[0].free) == 6
        library.happen(MAIN, SMALL)
        lease = camera.next(0.0)
        assert lease is not None
        lease.release()


def test_a_stamp_of_the_sensor_is_when_the_frame_happened() -> None:
    library = FakeLibrary()
    with opened(library) as camera:
        when_asked(library, age_ns=20_000_000)
        before = time.monotonic_ns()
        lease = camera.next(SOON)
        assert lease is not None
        with lease:
            assert before - 20_000_000 <= lease.frame.captured_ns < time.monotonic_ns() - 19_000_000


def test_closing_with_an_open_question_does_not_hang_and_loses_no_request() -> None:
    library = FakeLibrary()
    camera = opened(library)
    assert camera.next(0.0) is None
    camera.close()
    assert library.open_cameras == []
    camera = opened(library)
    inner = library.open_cameras[0]
    assert camera.next(0.0) is None
    library.happen(MAIN, SMALL)  # answered, and never fetched
    camera.close()
    assert len(inner.free) == 6


def test_a_library_that_does_not_close_is_said_so() -> None:
    free, entered = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        free.wait()

    with pytest.raises(CameraError, match=r"does not close.*new process"):
        within(SOON, "cam", hang)
    assert entered.wait(60)
    free.set()
    for thread in threading.enumerate():
        if thread.name == "picamera2-close":
            thread.join()


def test_what_fails_while_closing_is_said() -> None:
    library = FakeLibrary()
    camera = opened(library)

    def fail() -> None:
        raise RuntimeError("Failed to stop")

    library.stopping = fail
    with pytest.raises(CameraError, match="closing: Failed to stop"):
        camera.close()
    assert library.open_cameras == []


def test_a_busy_camera_is_known_by_the_words_of_the_cause() -> None:
    library = FakeLibrary()
    library.busy = True
    with pytest.raises(CameraBusy, match=r"sequence did not complete.*resource busy"):
        opened(library)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda library: setattr(library, "refuses_to_start", True), "starting: Camera did not"),
        (lambda library: setattr(library, "insists_on", "XBGR8888"), "insists on XBGR8888"),
    ],
)
def test_a_camera_that_cannot_be_used_is_closed_again(
    spoil: Callable[[FakeLibrary], None], words: str
) -> None:
    library = FakeLibrary()
    spoil(library)
    with pytest.raises(CameraError, match=words):
        opened(library)
    assert library.open_cameras == []


def test_a_failing_question_means_that_the_camera_is_lost() -> None:
    library = FakeLibrary()
    with opened(library) as camera:
        library.asked = lambda inner: inner.fail(RuntimeError("Camera frontend has timed out"))
        with pytest.raises(CameraLost, match="timed out"):
            camera.next(SOON)


def test_cameras_are_found_by_a_part_of_their_id_or_model() -> None:
    library = FakeLibrary()
    library.cameras.append({"Model": "imx219", "Id": "/base/soc/i2c0mux/i2c@0/imx219@10", "Num": 1})
    with opened(library, device="IMX219") as camera:
        assert camera.description.device.endswith("imx219@10")
    with opened(library, device="i2c@1") as camera:
        assert camera.description.name == "imx708"
    with pytest.raises(CameraLost, match=r"'ov5647' is not there.*imx708.*imx219"):
        opened(library, device="ov5647")
    with pytest.raises(CameraError, match="several cameras"):
        opened(library, device="imx")
    library.cameras.clear()
    with pytest.raises(CameraLost, match=r"no camera found.*ribbon"):
        opened(library)


def test_a_camera_without_rates_and_a_second_stream_is_still_one() -> None:
    library = FakeLibrary()
    wish = CameraWish(640, 480)
    with opened(library, wish) as camera:
        assert library.configurations[-1]["lores"] is None
        assert library.configurations[-1]["controls"] == {}
        assert camera.description.frames_per_second is None


@pytest.mark.parametrize(
    ("size", "small"),
    [((1280, 720), (640, 360)), ((1920, 1080), (640, 360)), ((1296, 972), (640, 480))],
)
def test_the_second_stream_has_the_same_shape(
    size: tuple[int, int], small: tuple[int, int]
) -> None:
    assert small_size(*size) == small
    assert small_size(*small) is None


def test_without_the_library_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "picamera2", None)
    monkeypatch.setitem(sys.modules, "libcamera", None)
    with pytest.raises(DependencyMissing, match="apt install python3-picamera2"):
        open_picamera2(None, HD, buffers=4)


def test_the_library_is_imported_when_a_camera_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    library, libcamera, picamera2 = FakeLibrary(), ModuleType("libcamera"), ModuleType("picamera2")
    space = SimpleNamespace(Smpte170m=lambda: "limited-range BT.601")
    monkeypatch.setattr(libcamera, "ColorSpace", space, raising=False)
    monkeypatch.setattr(picamera2, "Picamera2", library, raising=False)
    monkeypatch.setitem(sys.modules, "libcamera", libcamera)
    monkeypatch.setitem(sys.modules, "picamera2", picamera2)
    open_picamera2(None, HD, buffers=4).close()
    assert library.configurations[0]["colour_space"] == "limited-range BT.601"
