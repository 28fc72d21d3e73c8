"""A module like picamera2 with a camera like a Raspberry Pi's, as far as our back end goes.

Buffers are real memory (memfd), questions are real futures, and a frame nobody asked for is
dropped, as the library does without its queue.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from edgefaced.camera.layout import BYTES_PER_PIXEL, Layout, Planes
from edgefaced.camera.picamera2_open import NAMES

FORMATS = {name: pixel_format for pixel_format, name in NAMES.items()}
ALIGN = 64


@dataclass
class Stream:
    """One configured stream and its buffers."""

    layout: Layout
    planes: list[Any] = field(default_factory=list)


class Job:
    def __init__(self) -> None:
        self.future: Future[Any] = Future()


class Request:
    """A completed request: held until its count of uses is zero."""

    def __init__(
        self, camera: FakeCamera, index: int, sequence: int, age_ns: int, ok: bool
    ) -> None:
        self._camera = camera
        self._index = index
        self._uses = 1
        metadata = SimpleNamespace(
            status=SimpleNamespace(name="Success" if ok else "Error"),
            sequence=sequence,
            timestamp=time.monotonic_ns() - age_ns,
        )
        self.stream_map = {name: name for name in camera.streams}
        self.request = SimpleNamespace(
            buffers={
                name: SimpleNamespace(planes=[stream.planes[index]], metadata=metadata)
                for name, stream in camera.streams.items()
            }
        )

    def release(self) -> None:
        self._uses -= 1
        if self._uses < 0:
            raise RuntimeError("CompletedRequest: lock now has negative ref_count")
        self._camera.free.append(self._index)


class FakeCamera:
    """What `Picamera2()` gives."""

    def __init__(self, library: FakeLibrary, number: int) -> None:
        self._library = library
        self._number = number
        self.camera_controls = {"FrameDurationLimits": (100, 1_000_000, None)}
        self.camera = SimpleNamespace(streams=set(range(library.streams)))
        self.streams: dict[str, Stream] = {}
        self.free: list[int] = []
        self.started = False
        self._config: dict[str, Any] = {}
        self._jobs: list[Job] = []
        self._lock = threading.Lock()
        library.open_cameras.append(self)

    def create_video_configuration(self, **wished: Any) -> dict[str, Any]:
        self._library.configurations.append(wished)
        return wished

    def configure(self, config: dict[str, Any]) -> None:
        config = {
            key: dict(value) if isinstance(value, dict) else value for key, value in config.items()
        }
        for name in ("main", "lores"):
            if config[name] is None:
                continue
            width, height = config[name]["size"]
            pixel_format = FORMATS[config[name]["format"]]
            bytes_wide = width * BYTES_PER_PIXEL[pixel_format]
            stride = -(-bytes_wide // ALIGN) * ALIGN + self._library.padding
            stream = Stream(Layout(pixel_format, width, height, stride))
            for _ in range(config["buffer_count"]):
                fd = os.memfd_create("fake-picamera2", os.MFD_CLOEXEC)
                os.ftruncate(fd, stream.layout.bytes_needed)
                stream.planes.append(
                    SimpleNamespace(fd=fd, offset=0, length=stream.layout.bytes_needed)
                )
            self.streams[name] = stream
            config[name]["stride"] = stride
            config[name]["format"] = self._library.insists_on or config[name]["format"]
        self.free = list(range(config["buffer_count"]))
        self._config = config

    def camera_configuration(self) -> dict[str, Any]:
        return self._config

    def start(self) -> None:
        if self._library.refuses_to_start:
            raise RuntimeError("Camera did not start")
        self.started = True

    def expose(self, sequence: int, pictures: dict[str, Planes], age_ns: int, ok: bool) -> bool:
        """A frame happens; False where it is dropped."""
        with self._lock:
            if not self.started or not self.free or not self._jobs:
                return False
            index = self.free.pop(0)
            for name, stream in self.streams.items():
                with mmap.mmap(stream.planes[index].fd, stream.layout.bytes_needed) as memory:
                    views = stream.layout.views([memory])
                    for target, source in zip(
                        (views.pixels, *views.chroma),
                        (pictures[name].pixels, *pictures[name].chroma),
                        strict=True,
                    ):
                        np.copyto(target, source)
                    del views, target
            job = self._jobs.pop(0)
        job.future.set_result(Request(self, index, sequence, age_ns, ok))
        return True

    def fail(self, error: Exception) -> None:
        """The open question is answered by an error."""
        self._jobs.pop(0).future.set_exception(error)

    def capture_request(self, wait: bool | None = None) -> Job:
        assert wait is False, "a question that waits cannot be timed out"
        job = Job()
        with self._lock:
            self._jobs.append(job)
        self._library.asked(self)
        return job

    def wait(self, job: Job, timeout: float | None = None) -> Any:
        assert timeout is not None, "nothing waits for ever"
        return job.future.result(timeout=timeout)

    def cancel_all_and_flush(self) -> None:
        with self._lock:
            jobs, self._jobs = self._jobs, []
        for job in jobs:
            job.future.set_exception(CancelledError())

    def stop(self) -> None:
        # The library's event loop gets to the stop only behind the questions before it.
        assert not self._jobs, "an open question would hold the stop up"
        self._library.stopping()
        self.started = False

    def close(self) -> None:
        if self in self._library.open_cameras:
            self._library.open_cameras.remove(self)
            for stream in self.streams.values():
                for plane in stream.planes:
                    os.close(plane.fd)


class FakeLibrary:
    """The module. `asked` runs with every question, `stopping` with every stop."""

    def __init__(self, *, padding: int = 0) -> None:
        self.cameras = [{"Model": "imx708", "Id": "/base/soc/i2c0mux/i2c@1/imx708@1a", "Num": 0}]
        self.padding = padding
        self.streams = 3
        self.busy = False
        self.refuses_to_start = False
        self.insists_on: str | None = None
        self.configurations: list[dict[str, Any]] = []
        self.open_cameras: list[FakeCamera] = []
        self.asked: Callable[[FakeCamera], None] = lambda camera: None
        self.stopping: Callable[[], None] = lambda: None
        self.sequence = 0

    @property
    def Picamera2(self) -> FakeLibrary:
        return self

    def global_camera_info(self) -> list[dict[str, Any]]:
        return list(self.cameras)

    def __call__(self, number: int) -> FakeCamera:
        if self.busy:
            try:
                raise RuntimeError("Failed to acquire camera: Device or resource busy")
            except RuntimeError:
                # As the library does: the reason is only in the context.
                raise RuntimeError("Camera __init__ sequence did not complete.")  # noqa: B904
        return FakeCamera(self, number)

    def happen(
        self, main: Planes, lores: Planes | None = None, *, age_ns: int = 0, ok: bool = True
    ) -> bool:
        """A frame of the sensor; False where nobody had asked for it."""
        sequence, self.sequence = self.sequence, self.sequence + 1
        pictures = {"main": main, "lores": lores or main}
        exposed = [c.expose(sequence, pictures, age_ns, ok) for c in self.open_cameras]
        return any(exposed)
