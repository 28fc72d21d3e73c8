"""A Raspberry Pi's camera through picamera2: requests on loan, a small stream beside the main one.

The library closes only when none of its own views is left, whoever holds one. Each buffer's
DMA-BUF is therefore mapped here, once and read-only, and lives as long as frames of it do;
picamera2 keeps the caches in order for as long as a request is held.
"""

from __future__ import annotations

import mmap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

from edgefaced.camera.clock import happened_ns
from edgefaced.camera.layout import Layout, Planes
from edgefaced.camera.lease import FrameLease, LeaseBook, left_out
from edgefaced.errors import CameraBusy, CameraError, CameraLost, LeaseError
from edgefaced.protocols import Camera, CameraCounts, CameraDescription
from edgefaced.types import DmaBuffer, Frame

NANOSECONDS = 1_000_000_000
USUAL_RATE = 30.0
CLOSE_SECONDS = 3.0
"""A sensor whose cable has slipped can hold the library's own close for ever."""


class Picamera2Camera:
    """A camera that runs; made by `open_picamera2`.

    `known` are the cameras of this machine now; `small` is the second stream's layout.
    """

    def __init__(
        self,
        camera: Any,
        known: Callable[[], Sequence[Mapping[str, Any]]],
        description: CameraDescription,
        main: Layout,
        small: Layout | None,
    ) -> None:
        self._camera = camera
        self._known = known
        self._description = description
        self._layouts = {"main": main} | ({} if small is None else {"lores": small})
        self._planes: dict[tuple[str, int], Planes] = {}
        self._book = LeaseBook(description.device)
        self._counts = CameraCounts()
        self._job: Any = None
        self._sequence = -1
        self._sensor_sequence: int | None = None
        self._closed = False

    @property
    def description(self) -> CameraDescription:
        return self._description

    @property
    def counts(self) -> CameraCounts:
        return self._counts

    def next(self, timeout: float) -> FrameLease | None:
        device = self._description.device
        if self._closed:
            raise CameraError(f"{device}: the camera is closed")
        deadline = time.monotonic() + timeout
        with spoken(device, "waiting for a frame", lost=True):
            request = self._answer_of_before()
            while True:
                request = request or self._request(max(deadline - time.monotonic(), 0.0))
                if request is None:
                    self._check_present()
                    return None
                lease = self._lease(request)
                if lease is not None:
                    return lease
                request = None

    def settled(self, timeout: float) -> bool:
        return self._book.wait_below(1, timeout)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        device = self._description.device
        with spoken(device, "closing"):
            left = self._book.close()
            self._planes = {}
            within(CLOSE_SECONDS, device, self._shut_down)
        if left:
            raise left_out(device, left)

    def __enter__(self) -> Camera:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except LeaseError:
            if kind is None:
                raise

    def _answer_of_before(self) -> Any:
        """What came since the last call timed out, unless a newer frame must be on its way."""
        request = self._request(0.0) if self._job is not None else None
        if request is None:
            return None
        age_ns = time.monotonic_ns() - _buffer(request, "main").metadata.timestamp
        if age_ns < NANOSECONDS / (self._description.frames_per_second or USUAL_RATE):
            return request
        request.release()
        return None

    def _request(self, timeout: float) -> Any:
        """The next request within `timeout`, or None: the question stays open until then."""
        job, self._job = self._job or self._camera.capture_request(wait=False), None
        try:
            return self._camera.wait(job, timeout=timeout)
        except TimeoutError:
            self._job = job
            return None

    def _lease(self, request: Any) -> FrameLease | None:
        """The request on loan, or None for one that the sensor marks as broken."""
        buffers = {name: _buffer(request, name) for name in self._layouts}
        metadata = buffers["main"].metadata
        self._follow(metadata.sequence)
        if metadata.status.name != "Success":
            self._counts = replace(self._counts, damaged=self._counts.damaged + 1)
            request.release()
            return None
        captured_ns = happened_ns(metadata.timestamp, time.monotonic_ns())
        frames = [
            self._frame(name, buffer, layout, captured_ns)
            for (name, layout), buffer in zip(self._layouts.items(), buffers.values(), strict=True)
        ]
        lease = self._book.lend(frames[0], request.release, small=frames[-1])
        self._counts = replace(self._counts, lent=self._counts.lent + 1)
        return lease

    def _frame(self, name: str, buffer: Any, layout: Layout, captured_ns: int) -> Frame:
        fd, offset = buffer.planes[0].fd, buffer.planes[0].offset
        length = offset + sum(plane.length for plane in buffer.planes)
        planes = self._planes.get((name, fd))
        if planes is None:
            memory = mmap.mmap(fd, length, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
            planes = self._planes[name, fd] = layout.views([memory], offset)
        return Frame(
            self._sequence,
            captured_ns,
            planes.pixels,
            layout.pixel_format,
            planes.chroma,
            DmaBuffer(fd, length, offset, layout.stride),
        )

    def _follow(self, sensor_sequence: int) -> None:
        """Counts on by the sensor's own count: what nobody asked for in time was overtaken."""
        before, self._sensor_sequence = self._sensor_sequence, sensor_sequence
        step = 1 if before is None else max(sensor_sequence - before, 1)
        self._sequence += step
        self._counts = replace(self._counts, overtaken=self._counts.overtaken + step - 1)

    def _check_present(self) -> None:
        device = self._description.device
        if device not in {str(info["Id"]) for info in self._known()}:
            raise CameraLost(f"{device}: the camera is not there any more", "cable, power?")

    def _shut_down(self) -> None:
        # The library's object has descriptors even when it is closed, so it is let go as well.
        camera, self._camera = self._camera, None
        job, self._job = self._job, None
        with ExitStack() as steps:
            steps.callback(camera.close)
            steps.callback(camera.stop)
            # An open question would keep the library from stopping when no frame comes any more.
            camera.cancel_all_and_flush()
            if job is not None:
                with suppress(CancelledError, TimeoutError):
                    camera.wait(job, timeout=CLOSE_SECONDS / 2).release()


def _buffer(request: Any, name: str) -> Any:
    return request.request.buffers[request.stream_map[name]]


def within(seconds: float, device: str, action: Callable[[], None]) -> None:
    """Runs what may never return; CameraError when it has not after `seconds`."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except (RuntimeError, OSError, ValueError) as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="picamera2-close", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise CameraError(f"{device}: the camera does not close", "only a new process can use it")
    if failed:
        raise failed[0]


@contextmanager
def spoken(device: str, doing: str, *, lost: bool = False) -> Iterator[None]:
    """Turns what the library raises into a CameraError; it says "busy" only in words."""
    try:
        yield
    except (RuntimeError, OSError, ValueError) as error:
        causes: list[BaseException] = [error]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
            causes.append(cause)
        said = "; ".join(dict.fromkeys(str(cause) for cause in causes))
        what = f"{device}: {doing}: {said}"
        if "busy" in said.lower():
            raise CameraBusy(what, "another program uses the camera") from error
        if lost:
            raise CameraLost(what, "cable, power? `rpicam-hello` tells") from error
        raise CameraError(what) from error
