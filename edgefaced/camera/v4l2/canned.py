"""A kernel with cameras that show prepared pictures: for whole systems without a camera, and tests.

Buffers are real memory (memfd) that the reader maps, and waiting is a real poll (eventfd). A
canned camera exposes a frame when it is told to, so whoever tests decides what happens and when.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgefaced.camera.layout import BYTES_PER_PIXEL, Layout, Planes
from edgefaced.camera.v4l2 import ioctl as v4l2
from edgefaced.camera.v4l2.canned_buffers import CannedBuffers, Exposed, Memory, refusal
from edgefaced.camera.v4l2.choice import WIRES, Wire

PAGE_BYTES = mmap.PAGESIZE


@dataclass(frozen=True, slots=True)
class CannedFormat:
    """One line of what a canned camera offers."""

    fourcc: str
    sizes: tuple[tuple[int, int], ...] = ((640, 480),)
    rates: tuple[int, ...] = (30,)


class CannedCamera:
    """One camera. It can be busy, forbidden or unplugged, and it loses frames nobody has room for.

    `planar` speaks the multi-planar API, in which frames may begin at an `offset`; `padding`
    bytes follow every row, `exports` gives DMA-BUFs (descriptors of the same memory), `monotonic`
    stamps frames in monotonic time.
    """

    def __init__(
        self,
        formats: Sequence[CannedFormat] = (CannedFormat("NV12"),),
        *,
        label: str = "Canned camera",
        planar: bool = False,
        padding: int = 0,
        offset: int = 0,
        exports: bool = True,
        monotonic: bool = True,
        most_buffers: int = 32,
    ) -> None:
        self.busy = False
        self.forbidden = False
        self.unplugged = False
        self._label = label
        self._formats = tuple(formats)
        self._planar = planar
        self._padding = padding
        self._offset = offset
        self._exports = exports
        self._monotonic = monotonic
        self._most_buffers = most_buffers
        self._lock = threading.Lock()
        self._fourcc = self._formats[0].fourcc
        self._width, self._height = self._formats[0].sizes[0]
        self._rate = self._formats[0].rates[0]
        self._owner: int | None = None
        self._buffers = CannedBuffers()
        self._sequence = 0
        self._subscribed = False
        self._changes = 0
        self._answers = {
            v4l2.QUERYCAP: self._introduce,
            v4l2.ENUM_FMT: self._list_formats,
            v4l2.ENUM_FRAMESIZES: self._list_sizes,
            v4l2.ENUM_FRAMEINTERVALS: self._list_rates,
            v4l2.S_FMT: self._set_format,
            v4l2.G_PARM: self._say_rate,
            v4l2.S_PARM: self._set_rate,
            v4l2.REQBUFS: self._allocate,
            v4l2.QUERYBUF: self._describe,
            v4l2.EXPBUF: self._export,
            v4l2.QBUF: self._queue,
            v4l2.DQBUF: self._dequeue,
            v4l2.STREAMON: self._start,
            v4l2.STREAMOFF: self._stop,
            v4l2.SUBSCRIBE_EVENT: self._subscribe,
            v4l2.DQEVENT: self._tell,
        }

    @property
    def queued(self) -> int:
        """Buffers that wait for a frame."""
        with self._lock:
            return self._buffers.queued

    @property
    def users(self) -> int:
        """How often it is open."""
        with self._lock:
            return len(self._buffers.bells)

    def expose(
        self,
        picture: Planes | bytes,
        *,
        damaged: bool = False,
        lost_bytes: int = 0,
        age_ns: int = 0,
    ) -> bool:
        """A frame happens; False where no buffer was free or it has another size, and it is lost.

        `picture` is a frame's planes, or a compressed frame's bytes, of which the last
        `lost_bytes` do not arrive; `damaged` is the driver's mark; it happened `age_ns` ago.
        """
        with self._lock:
            sequence, self._sequence = self._sequence, self._sequence + 1
            other = not isinstance(picture, bytes) and picture.pixels.shape[:2] != self._shape
            index = None if self.unplugged or other else self._buffers.next_free()
            if index is None:
                return False
            *before, last = self._write(self._buffers[index], picture)
            flags = v4l2.BUF_FLAG_ERROR if damaged else 0
            flags |= v4l2.BUF_FLAG_TIMESTAMP_MONOTONIC if self._monotonic else 0
            stamp_ns = time.monotonic_ns() - age_ns
            used = (*before, last - lost_bytes)
            self._buffers.fill(Exposed(index, sequence, stamp_ns, flags, used))
            return True

    def change_source(self, width: int, height: int) -> None:
        """What it shows has another size from now on, as an HDMI input may; no frame fits."""
        with self._lock:
            self._formats = tuple(replace(f, sizes=((width, height),)) for f in self._formats)
            self._changes += self._subscribed
            self._buffers.ring()

    def unplug(self) -> None:
        """From now on every call says that there is no such device; whoever waits is woken."""
        with self._lock:
            self.unplugged = True
            self._buffers.ring()

    def open(self) -> int:
        """A descriptor that is readable while a filled buffer waits."""
        if self.unplugged:
            raise refusal(errno.ENODEV)
        if self.forbidden:
            raise refusal(errno.EACCES)
        bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC | os.EFD_SEMAPHORE)
        with self._lock:
            self._buffers.bells.add(bell)
        return bell

    def close(self, fd: int) -> None:
        """What was allocated through the descriptor is freed."""
        with self._lock:
            self._buffers.bells.discard(fd)
            if self._owner == fd:
                self._buffers.free()
                self._owner = None
        os.close(fd)

    def ioctl(self, fd: int, request: int, argument: Any) -> None:
        """The kernel's answers, for the calls a camera needs."""
        answer = self._answers.get(request)
        with self._lock:
            if self.unplugged:
                raise refusal(errno.ENODEV)
            if answer is None:
                raise refusal(errno.ENOTTY)
            answer(fd, argument)

    def map(self, length: int, offset: int) -> mmap.mmap:
        """The memory at an offset that a description named, to read from."""
        index, piece = divmod(offset // PAGE_BYTES, v4l2.MAX_PLANES)
        memory = self._buffers[index][piece].fd
        return mmap.mmap(memory, length, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)

    @property
    def _shape(self) -> tuple[int, int]:
        return self._height, self._width

    @property
    def _wire(self) -> Wire:
        return WIRES[self._fourcc]

    @property
    def _layout(self) -> Layout:
        pixel_format = self._wire.pixel_format
        stride = self._width * BYTES_PER_PIXEL[pixel_format] + self._padding
        return Layout(pixel_format, self._width, self._height, stride)

    @property
    def _sizes(self) -> tuple[int, ...]:
        """Bytes of each piece of memory of a frame."""
        layout = self._layout
        luma = layout.stride * layout.height
        if self._wire.split:
            return self._offset + luma, luma // 2
        return (self._offset + layout.bytes_needed,)

    def _write(self, memories: tuple[Memory, ...], picture: Planes | bytes) -> tuple[int, ...]:
        if isinstance(picture, bytes):
            memories[0].view[: len(picture)] = picture
            return (len(picture),)
        views = self._layout.views([memory.view for memory in memories], self._offset)
        for target, source in zip(
            (views.pixels, *views.chroma), (picture.pixels, *picture.chroma), strict=True
        ):
            np.copyto(target, source)
        return self._sizes

    def _introduce(self, fd: int, answer: Any) -> None:
        answer.driver, answer.card, answer.bus_info = b"canned", self._label.encode(), b"canned"
        planar = v4l2.CAP_VIDEO_CAPTURE_MPLANE if self._planar else v4l2.CAP_VIDEO_CAPTURE
        answer.device_caps = planar | v4l2.CAP_STREAMING
        answer.capabilities = answer.device_caps | v4l2.CAP_DEVICE_CAPS

    def _list_formats(self, fd: int, answer: Any) -> None:
        answer.pixelformat = v4l2.code_of(_nth(self._formats, answer.index).fourcc)

    def _list_sizes(self, fd: int, answer: Any) -> None:
        answer.type = v4l2.FRAME_TYPE_DISCRETE
        sizes = self._named(answer.pixel_format).sizes
        answer.discrete.width, answer.discrete.height = _nth(sizes, answer.index)

    def _list_rates(self, fd: int, answer: Any) -> None:
        answer.type = v4l2.FRAME_TYPE_DISCRETE
        rates = self._named(answer.pixel_format).rates
        answer.discrete.numerator, answer.discrete.denominator = 1, _nth(rates, answer.index)

    def _named(self, code: int) -> CannedFormat:
        for offered in self._formats:
            if v4l2.code_of(offered.fourcc) == code:
                return offered
        raise refusal(errno.EINVAL)

    def _set_format(self, fd: int, asked: Any) -> None:
        if self.busy or self._owner not in (None, fd):
            raise refusal(errno.EBUSY)
        form = asked.fmt.pix_mp if self._planar else asked.fmt.pix
        offered = self._named(form.pixelformat)
        self._fourcc = offered.fourcc
        self._width, self._height = min(
            offered.sizes, key=lambda s: abs(s[0] - form.width) + abs(s[1] - form.height)
        )
        form.width, form.height = self._width, self._height
        pieces = form.plane_fmt if self._planar else [form]
        for piece, size in zip(pieces, self._sizes, strict=False):
            piece.sizeimage = size
            piece.bytesperline = 0 if self._wire.compressed else self._layout.stride
        if self._planar:
            form.num_planes = len(self._sizes)

    def _say_rate(self, fd: int, answer: Any) -> None:
        answer.parm.capture.capability = v4l2.CAP_TIMEPERFRAME
        answer.parm.capture.timeperframe = v4l2.Fract(1, self._rate)

    def _set_rate(self, fd: int, asked: Any) -> None:
        interval = asked.parm.capture.timeperframe
        wished = interval.denominator / interval.numerator
        rates = self._named(v4l2.code_of(self._fourcc)).rates
        self._rate = min(rates, key=lambda rate: abs(rate - wished))
        self._say_rate(fd, asked)

    def _allocate(self, fd: int, asked: Any) -> None:
        if self.busy or self._owner not in (None, fd):
            raise refusal(errno.EBUSY)
        asked.count = min(asked.count, self._most_buffers)
        self._buffers.allocate(asked.count, self._sizes)
        self._owner = fd if asked.count else None

    def _describe(self, fd: int, answer: Any) -> None:
        _ = self._buffers[answer.index]
        first = answer.index * v4l2.MAX_PLANES
        if not self._planar:
            answer.length, answer.m.offset = self._sizes[0], first * PAGE_BYTES
            return
        for piece, size in enumerate(self._sizes):
            answer.m.planes[piece].length = size
            answer.m.planes[piece].m.mem_offset = (first + piece) * PAGE_BYTES

    def _export(self, fd: int, asked: Any) -> None:
        if not self._exports:
            raise refusal(errno.ENOTTY)
        asked.fd = os.dup(self._buffers[asked.index][asked.plane].fd)

    def _queue(self, fd: int, asked: Any) -> None:
        self._buffers.queue(asked.index)

    def _dequeue(self, fd: int, answer: Any) -> None:
        done = self._buffers.take(fd)
        answer.index, answer.sequence, answer.flags = done.index, done.sequence, done.flags
        answer.timestamp.tv_sec, rest_ns = divmod(done.stamp_ns, 1_000_000_000)
        answer.timestamp.tv_usec = rest_ns // 1000
        if not self._planar:
            (answer.bytesused,) = done.used
            return
        for piece, used in enumerate(done.used):
            answer.m.planes[piece].bytesused = used
            answer.m.planes[piece].data_offset = 0 if piece else self._offset

    def _start(self, fd: int, kind: Any) -> None:
        self._buffers.streaming = True

    def _stop(self, fd: int, kind: Any) -> None:
        self._buffers.stop(fd)

    def _subscribe(self, fd: int, asked: Any) -> None:
        if asked.type != v4l2.EVENT_SOURCE_CHANGE:
            raise refusal(errno.EINVAL)
        self._subscribed = True

    def _tell(self, fd: int, answer: Any) -> None:
        if not self._changes:
            raise refusal(errno.ENOENT)
        self._changes -= 1
        answer.type = v4l2.EVENT_SOURCE_CHANGE
        answer.u.src_change.changes = v4l2.SOURCE_CHANGE_RESOLUTION


class CannedKernel:
    """Nodes by path, and the canned cameras behind them."""

    def __init__(self) -> None:
        self._plugged: dict[str, CannedCamera] = {}
        self._open: dict[int, CannedCamera] = {}

    def plug_in(self, path: str, camera: CannedCamera) -> None:
        """The camera is found at `path` from now on."""
        self._plugged[path] = camera

    def unplug(self, path: str) -> None:
        """The node is gone, and the camera for those who have it open."""
        self._plugged.pop(path).unplug()

    def open(self, path: str) -> int:
        if path not in self._plugged:
            raise refusal(errno.ENOENT)
        camera = self._plugged[path]
        fd = camera.open()
        self._open[fd] = camera
        return fd

    def close(self, fd: int) -> None:
        self._open.pop(fd).close(fd)

    def ioctl(self, fd: int, request: int, argument: ctypes.Structure | ctypes.c_int) -> None:
        self._open[fd].ioctl(fd, request, argument)

    def map(self, fd: int, length: int, offset: int) -> mmap.mmap:
        return self._open[fd].map(length, offset)


def _nth(items: Sequence[Any], index: int) -> Any:
    """The item at an index that came from outside; EINVAL behind the end, as the kernel says."""
    if index >= len(items):
        raise refusal(errno.EINVAL)
    return items[index]
