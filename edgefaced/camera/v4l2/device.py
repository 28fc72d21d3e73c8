"""A V4L2 camera: opened, negotiated with, and read in place."""

from __future__ import annotations

import errno
import math
import os
import select
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from edgefaced.camera import mjpeg
from edgefaced.camera.clock import happened_ns
from edgefaced.camera.layout import Layout
from edgefaced.camera.lease import FrameLease, LeaseBook, left_out
from edgefaced.camera.v4l2.choice import choose
from edgefaced.camera.v4l2.faults import Holders, spoken, who_holds
from edgefaced.camera.v4l2.kernel import Kernel, LinuxKernel
from edgefaced.camera.v4l2.offers import identify, offers
from edgefaced.camera.v4l2.stream import Filled, Stream, agreed_layout, set_format, set_rate
from edgefaced.errors import CameraError, FrameDamaged, LeaseError
from edgefaced.protocols import Camera, CameraCounts, CameraDescription, CameraWish
from edgefaced.types import DmaBuffer, Frame

FEWEST_BUFFERS = 2
_NEWS = select.POLLIN | select.POLLPRI


def open_v4l2(
    node: Path,
    wish: CameraWish,
    *,
    buffers: int,
    kernel: Kernel | None = None,
    holders: Holders = who_holds,
) -> Camera:
    """Opens and starts a node. Raises CameraBusy, CameraLost or CameraError, with nothing open."""
    kernel, device = kernel or LinuxKernel(), str(node)
    with ExitStack() as undo:
        with spoken(device, "opening", holders):
            fd = kernel.open(device)
            undo.callback(kernel.close, fd)
        with spoken(device, "asking what it is", holders):
            identity = identify(kernel, fd)
            if identity.buffer_type is None:
                raise CameraError(f"{device}: {identity.card!r} is no camera that streams")
            choice = choose(offers(kernel, fd, identity.buffer_type, wish), wish)
        with spoken(device, "setting the format", holders):
            agreed = set_format(kernel, fd, identity.buffer_type, choice)
            rate = set_rate(kernel, fd, identity.buffer_type, choice.rate)
        wire, layout = agreed_layout(device, agreed)
        stream = Stream(kernel, fd, identity.buffer_type, agreed.memories)
        undo.callback(stream.close)
        with spoken(device, "starting", holders):
            stream.watch_source()
            stream.start(buffers)
        if len(stream.buffers) < FEWEST_BUFFERS:
            raise CameraError(f"{device}: the driver has memory for {len(stream.buffers)} frames")
        smallest = min(sum(map(len, buffer.memories)) for buffer in stream.buffers)
        if layout is not None and smallest < layout.bytes_needed:
            raise CameraError(
                f"{device}: the driver's memory holds {smallest} of {layout.bytes_needed} bytes"
            )
        description = CameraDescription(
            name=identity.card,
            device=device,
            width=agreed.width,
            height=agreed.height,
            pixel_format=wire.pixel_format,
            native=wire.name,
            frames_per_second=rate,
            buffers=len(stream.buffers),
            dma=layout is not None and all(b.dma_fd is not None for b in stream.buffers),
            wish=wish,
        )
        camera = V4l2Camera(description, layout, stream, fd, kernel, holders)
        undo.pop_all()
    return camera


class V4l2Camera:
    """An open node, made by `open_v4l2`; `layout` is None where frames come as JPEGs."""

    def __init__(
        self,
        description: CameraDescription,
        layout: Layout | None,
        stream: Stream,
        fd: int,
        kernel: Kernel,
        holders: Holders,
    ) -> None:
        self._description = description
        self._layout = layout
        self._stream = stream
        self._fd = fd
        self._kernel = kernel
        self._holders = holders
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN | select.POLLPRI)
        # The views of every buffer are made once: afterwards a frame is a few references.
        self._planes = [layout.views(b.memories) for b in stream.buffers] if layout else []
        self._book = LeaseBook(description.device)
        self._counts = CameraCounts()
        self._sequence = -1
        self._driver_sequence: int | None = None
        self._fault = 0
        self._closed = False

    @property
    def description(self) -> CameraDescription:
        return self._description

    @property
    def counts(self) -> CameraCounts:
        return self._counts

    def next(self, timeout: float) -> FrameLease | None:
        if self._closed:
            raise CameraError(f"{self._description.device}: the camera is closed")
        deadline = time.monotonic() + timeout
        with spoken(self._description.device, "waiting for a frame", self._holders):
            while True:
                if self._fault:
                    raise OSError(self._fault, os.strerror(self._fault))
                left = max(deadline - time.monotonic(), 0.0)
                events = self._poll.poll(math.ceil(left * 1000))
                filled = self._newest()
                lease = self._lease(filled) if filled else None
                if lease is not None:
                    return lease
                if filled is None and events and self._stream.source_changed():
                    raise CameraError(
                        f"{self._description.device}: the picture's size has changed",
                        "the camera is opened again",
                    )
                if filled is None and any(event & ~_NEWS for _, event in events):
                    # Nothing to fetch and nothing will come: waiting on would be spinning.
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                if left == 0.0:
                    return None

    def settled(self, timeout: float) -> bool:
        return self._book.wait_below(1, timeout)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        left = self._book.close()
        self._planes = []
        self._stream.close()
        self._kernel.close(self._fd)
        if left:
            raise left_out(self._description.device, left)

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

    def _newest(self) -> Filled | None:
        """The newest whole buffer, with our count; older and damaged ones go back to the driver."""
        newest: Filled | None = None
        for _ in self._stream.buffers:
            filled = self._stream.take()
            if filled is None:
                break
            self._follow(filled.sequence)
            if filled.damaged or (self._layout and filled.length < self._layout.bytes_needed):
                self._counts = replace(self._counts, damaged=self._counts.damaged + 1)
                self._stream.queue(filled.index)
                continue
            if newest is not None:
                self._counts = replace(self._counts, overtaken=self._counts.overtaken + 1)
                self._stream.queue(newest.index)
            newest = replace(filled, sequence=self._sequence)
        return newest

    def _follow(self, driver_sequence: int) -> None:
        """Counts on, by the driver's own count: it goes on while no buffer is free."""
        step = 1
        if self._driver_sequence is not None:
            step = (driver_sequence - self._driver_sequence) % 2**32
        self._driver_sequence = driver_sequence
        if not 0 < step < 2**31:  # a driver that does not count, or began anew
            step = 1
        self._sequence += step
        self._counts = replace(self._counts, missed=self._counts.missed + step - 1)

    def _lease(self, filled: Filled) -> FrameLease | None:
        """The newest buffer on loan, or None for a picture that is not whole."""
        captured_ns = happened_ns(filled.stamp_ns, time.monotonic_ns())
        what, buffer = self._description, self._stream.buffers[filled.index]
        if self._layout is None:
            data = buffer.memories[0][filled.offset : filled.offset + filled.length]
            self._stream.queue(filled.index)
            if not mjpeg.is_whole(data, what.width, what.height):
                self._counts = replace(self._counts, damaged=self._counts.damaged + 1)
                return None

            def decode(part: int) -> Frame:
                pixels = mjpeg.decode(data, what.width, what.height, part)
                if pixels is None:
                    raise FrameDamaged(f"{what.device}: a frame cannot be decoded")
                return Frame(filled.sequence, captured_ns, pixels, what.pixel_format)

            lease = self._book.lend_compressed(
                filled.sequence, decode, _nothing, copied_bytes=len(data)
            )
        else:
            planes = self._planes[filled.index]
            if filled.offset:
                planes = self._layout.views(buffer.memories, filled.offset)
            frame = Frame(
                filled.sequence,
                captured_ns,
                planes.pixels,
                what.pixel_format,
                planes.chroma,
                None
                if buffer.dma_fd is None
                else DmaBuffer(
                    buffer.dma_fd, len(buffer.memories[0]), filled.offset, self._layout.stride
                ),
            )
            lease = self._book.lend(frame, lambda: self._give_back(filled.index))
        self._counts = replace(self._counts, lent=self._counts.lent + 1)
        return lease

    def _give_back(self, index: int) -> None:
        try:
            self._stream.queue(index)
        except OSError as error:
            # Whoever reads next is told; a release has nobody to tell. Only the number is kept:
            # with the error go its callers, and their frames, in a circle around this camera.
            self._fault = error.errno or errno.EIO


def _nothing() -> None:
    """A decoded frame has no buffer to give back."""
