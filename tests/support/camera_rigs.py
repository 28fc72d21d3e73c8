"""One handle for every kind of camera: open it, make a frame happen, take the camera away."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from fake_picamera2 import FakeLibrary

from edgefaced.camera.convert import planes_of
from edgefaced.camera.picamera2_open import open_picamera2, small_size
from edgefaced.camera.replay import open_replay
from edgefaced.camera.v4l2.canned import CannedCamera, CannedFormat, CannedKernel
from edgefaced.camera.v4l2.choice import WIRES
from edgefaced.camera.v4l2.device import open_v4l2
from edgefaced.protocols import Camera, CameraWish
from edgefaced.types import U8, PixelFormat

SHADE_STEP = 10
"""Shades are multiples of it."""


def picture(shade: int, width: int = 320, height: int = 240) -> U8:
    """A grey BGR picture that every format carries: `shade` tells it from others."""
    return np.full((height, width, 3), shade, np.uint8)


def shade_of(pixels: U8, pixel_format: PixelFormat) -> float:
    """The shade a grey picture was made with, read from a frame's first plane."""
    if pixel_format in (PixelFormat.RGB, PixelFormat.BGR):
        return float(pixels.mean())
    luma = pixels[..., 0] if pixel_format is PixelFormat.YUYV else pixels
    return (float(luma.mean()) - 16) * 255 / 219


@dataclass(frozen=True)
class Rig:
    """A camera at the test's command; `unplug` is absent where nothing can be unplugged.

    `happen(shade)` makes a frame happen that the next call of `next` finds. `holds_buffers` is
    false where leases do not keep the camera from writing.
    """

    open: Callable[[], Camera]
    happen: Callable[[int], None]
    unplug: Callable[[], None] | None
    now_ns: Callable[[], int] = time.monotonic_ns
    holds_buffers: bool = True


def v4l2_rig(fourcc: str, *, planar: bool = False, padding: int = 0, exports: bool = True) -> Rig:
    kernel = CannedKernel()

    def camera() -> CannedCamera:
        formats = [CannedFormat(fourcc, ((320, 240),))]
        return CannedCamera(formats, planar=planar, padding=padding, exports=exports)

    plugged = [camera()]
    kernel.plug_in("/dev/video0", plugged[0])
    wire = WIRES[fourcc]

    def open_it() -> Camera:
        if plugged[-1].unplugged:
            plugged.append(camera())
            kernel.plug_in("/dev/video0", plugged[-1])
        return open_v4l2(Path("/dev/video0"), CameraWish(320, 240, 30.0), buffers=4, kernel=kernel)

    def happen(shade: int) -> None:
        if wire.compressed:
            data = cv2.imencode(".jpg", picture(shade))[1].tobytes()
            plugged[-1].expose(data)
        else:
            plugged[-1].expose(planes_of(picture(shade), wire.pixel_format))

    return Rig(
        open_it,
        happen,
        lambda: kernel.unplug("/dev/video0"),
        holds_buffers=not wire.compressed,
    )


def picamera2_rig(width: int, height: int, pixel_format: PixelFormat, *, padding: int = 0) -> Rig:
    library = FakeLibrary(padding=padding)
    present = list(library.cameras)
    upcoming: list[int] = []
    # So slow that no answer is ever too old, however long this machine thinks in between.
    wish = CameraWish(width, height, 0.1, pixel_format.value)
    small = small_size(width, height)

    def expose(shade: int) -> bool:
        main = planes_of(picture(shade, width, height), pixel_format)
        lores = planes_of(picture(shade, *small), PixelFormat.I420) if small else None
        return library.happen(main, lores)

    def asked(_: object) -> None:
        if upcoming:
            expose(upcoming.pop())

    def happen(shade: int) -> None:
        """Where nobody has asked yet, the frame happens as soon as somebody does."""
        if upcoming:
            expose(upcoming.pop())
        if not expose(shade):
            library.sequence -= 1
            upcoming.append(shade)

    def unplug() -> None:
        library.cameras.clear()

    def open_it() -> Camera:
        library.cameras[:] = present
        return open_picamera2(None, wish, buffers=4, library=library)

    library.asked = asked
    return Rig(open_it, happen, unplug)


class FilmClock:
    """A clock that stands still unless somebody sleeps or winds it on."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000_000

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


def replay_rig(folder: Path, pixel_format: PixelFormat, *, streamed: bool = False) -> Rig:
    """A film of one frame a second whose pictures are drawn as they are asked for."""
    clock = FilmClock()
    shades: list[int] = []
    first = [0]

    def open_it() -> Camera:
        # Frame 0 is shown at once; it is fetched here, so that a test begins with none waiting.
        shades.clear()
        for shade in range(0, 201, SHADE_STEP):
            path = folder / f"{shade:03}.png"
            if not path.exists():
                path.write_bytes(cv2.imencode(".png", picture(shade))[1].tobytes())
        camera = open_replay(
            sorted(folder.glob("*.png")),
            CameraWish(None, None, 1.0, pixel_format.value),
            pace="real",
            loop=True,
            picture_seconds=0,
            buffers=4,
            memory_bytes=1 if streamed else 1 << 30,
            now_ns=lambda: clock.now_ns,
            sleep=clock.sleep,
        )
        first[0] = clock.now_ns
        lease = camera.next(0.0)
        assert lease is not None
        lease.release()
        return camera

    def happen(shade: int) -> None:
        """Winds the clock to the moment of the frame with this shade; shades must grow."""
        clock.now_ns = max(clock.now_ns, first[0] + shade // SHADE_STEP * 1_000_000_000)

    return Rig(open_it, happen, None, now_ns=lambda: clock.now_ns)
