"""A node's format, its buffers in memory, and their way to the driver and back."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from contextlib import suppress
from dataclasses import dataclass

from edgefaced.camera.layout import BYTES_PER_PIXEL, Layout
from edgefaced.camera.v4l2 import ioctl as v4l2
from edgefaced.camera.v4l2.choice import WIRES, Choice, Wire
from edgefaced.camera.v4l2.kernel import Kernel
from edgefaced.errors import CameraError

_NOT_SUPPORTED = {errno.ENOTTY, errno.EINVAL}
_NO_EVENT = {errno.ENOENT, errno.EAGAIN, *_NOT_SUPPORTED}


@dataclass(frozen=True, slots=True)
class Agreed:
    """The format the driver has set: a frame is `frame_bytes` in `memories` pieces of memory."""

    fourcc: str
    width: int
    height: int
    stride: int
    memories: int
    frame_bytes: int


def agreed_layout(device: str, agreed: Agreed) -> tuple[Wire, Layout | None]:
    """What frames of the agreed format are; no layout for JPEGs. Raises CameraError."""
    wire = WIRES.get(agreed.fourcc)
    size = f"{agreed.width}x{agreed.height} {agreed.fourcc}"
    if wire is None:
        raise CameraError(f"{device}: the driver insists on {size}, which cannot be read")
    if wire.compressed:
        return wire, None
    stride = agreed.stride or agreed.width * BYTES_PER_PIXEL[wire.pixel_format]
    layout = Layout(wire.pixel_format, agreed.width, agreed.height, stride)
    if agreed.width % 2 or agreed.height % 2:
        raise CameraError(f"{device}: the driver insists on {size}, an odd size")
    if agreed.memories != (2 if wire.split else 1) or agreed.frame_bytes < layout.bytes_needed:
        raise CameraError(
            f"{device}: the driver's {size} is {agreed.frame_bytes} bytes in {agreed.memories} "
            f"pieces, {layout.bytes_needed} are needed"
        )
    return wire, layout


def set_format(kernel: Kernel, fd: int, buffer_type: int, choice: Choice) -> Agreed:
    """Asks for a format, with the colours that Frame promises. Raises OSError."""
    asked = v4l2.Format(type=buffer_type)
    planar = buffer_type == v4l2.BUF_TYPE_CAPTURE_MPLANE
    form = asked.fmt.pix_mp if planar else asked.fmt.pix
    form.width, form.height = choice.width, choice.height
    form.pixelformat = v4l2.code_of(choice.fourcc)
    form.field = v4l2.FIELD_NONE
    form.colorspace = v4l2.COLORSPACE_SMPTE170M
    form.ycbcr_enc = v4l2.YCBCR_ENC_601
    form.quantization = v4l2.QUANTIZATION_LIM_RANGE
    form.flags = v4l2.PIX_FMT_FLAG_SET_CSC
    if not planar:
        form.priv = v4l2.PIX_FMT_PRIV_MAGIC
    kernel.ioctl(fd, v4l2.S_FMT, asked)
    pieces = form.plane_fmt[: form.num_planes] if planar else [form]
    return Agreed(
        fourcc=v4l2.fourcc_of(form.pixelformat),
        width=form.width,
        height=form.height,
        stride=pieces[0].bytesperline,
        memories=len(pieces),
        frame_bytes=sum(piece.sizeimage for piece in pieces),
    )


def set_rate(kernel: Kernel, fd: int, buffer_type: int, rate: float | None) -> float | None:
    """Asks for frames per second and says what the driver will keep; None where it does not say."""
    asked = v4l2.StreamParm(type=buffer_type)
    try:
        kernel.ioctl(fd, v4l2.G_PARM, asked)
        if rate is not None and asked.parm.capture.capability & v4l2.CAP_TIMEPERFRAME:
            asked.parm.capture.timeperframe = v4l2.Fract(1000, round(1000 * rate))
            kernel.ioctl(fd, v4l2.S_PARM, asked)
    except OSError as error:
        if error.errno in _NOT_SUPPORTED:
            return None
        raise
    interval = asked.parm.capture.timeperframe
    return interval.denominator / interval.numerator if interval.numerator else None


@dataclass(frozen=True, slots=True, eq=False)
class MappedBuffer:
    """One of the driver's buffers as this process sees it, and its DMA-BUF where there is one."""

    memories: tuple[mmap.mmap, ...]
    dma_fd: int | None


@dataclass(frozen=True, slots=True)
class Filled:
    """A buffer that came back with a frame of `length` bytes, which begins at `offset`.

    `stamp_ns` is monotonic time, None where the driver has another clock; `damaged` its own word.
    """

    index: int
    sequence: int
    stamp_ns: int | None
    damaged: bool
    offset: int
    length: int


class Stream:
    """Buffers of a node that has its format; `close` gives everything back, `fd` aside."""

    def __init__(self, kernel: Kernel, fd: int, buffer_type: int, memories: int) -> None:
        self._kernel = kernel
        self._fd = fd
        self._type = buffer_type
        self._memories = memories
        self.buffers: tuple[MappedBuffer, ...] = ()

    def watch_source(self) -> None:
        """Asks to be told when the picture's size changes; most cameras have no such news."""
        asked = v4l2.EventSubscription(type=v4l2.EVENT_SOURCE_CHANGE)
        try:
            self._kernel.ioctl(self._fd, v4l2.SUBSCRIBE_EVENT, asked)
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise

    def source_changed(self) -> bool:
        """Whether the size has changed since the last call: the buffers do not fit any more."""
        changed = False
        while True:
            event = v4l2.Event()
            try:
                self._kernel.ioctl(self._fd, v4l2.DQEVENT, event)
            except OSError as error:
                if error.errno in _NO_EVENT:
                    return changed
                raise
            if event.type == v4l2.EVENT_SOURCE_CHANGE:
                changed |= bool(event.u.src_change.changes & v4l2.SOURCE_CHANGE_RESOLUTION)

    def start(self, count: int) -> None:
        """Allocates about `count` buffers (the driver decides), queues them all, and starts."""
        asked = v4l2.RequestBuffers(count=count, type=self._type, memory=v4l2.MEMORY_MMAP)
        self._kernel.ioctl(self._fd, v4l2.REQBUFS, asked)
        for index in range(asked.count):
            self.buffers += (self._map(index),)
            self.queue(index)
        self._kernel.ioctl(self._fd, v4l2.STREAMON, ctypes.c_int(self._type))

    def queue(self, index: int) -> None:
        """Hands a buffer to the driver."""
        self._kernel.ioctl(self._fd, v4l2.QBUF, self._question(index)[0])

    def take(self) -> Filled | None:
        """The oldest filled buffer, or None where none waits."""
        answer, planes = self._question(0)
        try:
            self._kernel.ioctl(self._fd, v4l2.DQBUF, answer)
        except BlockingIOError:
            return None
        monotonic = answer.flags & v4l2.BUF_FLAG_TIMESTAMP_MASK == v4l2.BUF_FLAG_TIMESTAMP_MONOTONIC
        stamp = answer.timestamp
        used, offset = answer.bytesused, 0
        if planes is not None:
            offset = planes[0].data_offset
            used = sum(plane.bytesused for plane in planes[: self._memories])
        return Filled(
            index=answer.index,
            sequence=answer.sequence,
            stamp_ns=stamp.tv_sec * 1_000_000_000 + stamp.tv_usec * 1000 if monotonic else None,
            damaged=bool(answer.flags & v4l2.BUF_FLAG_ERROR),
            offset=offset,
            length=used - offset,
        )

    def close(self) -> None:
        """Stops and frees; frames that somebody still has stay mapped until they are dropped."""
        # A camera that is gone refuses all of it, and has given it back already.
        with suppress(OSError):
            self._kernel.ioctl(self._fd, v4l2.STREAMOFF, ctypes.c_int(self._type))
        for dma_fd in (buffer.dma_fd for buffer in self.buffers):
            if dma_fd is not None:
                os.close(dma_fd)
        # Memory is unmapped with the last reference to it, never under somebody's frame.
        self.buffers = ()
        free = v4l2.RequestBuffers(count=0, type=self._type, memory=v4l2.MEMORY_MMAP)
        with suppress(OSError):
            self._kernel.ioctl(self._fd, v4l2.REQBUFS, free)

    def _question(self, index: int) -> tuple[v4l2.Buffer, ctypes.Array[v4l2.Plane] | None]:
        """A buffer's structure for the kernel, and its planes on a node that has several."""
        buffer = v4l2.Buffer(index=index, type=self._type, memory=v4l2.MEMORY_MMAP)
        if self._type != v4l2.BUF_TYPE_CAPTURE_MPLANE:
            return buffer, None
        planes = (v4l2.Plane * v4l2.MAX_PLANES)()
        buffer.m.planes = planes
        buffer.length = v4l2.MAX_PLANES
        return buffer, planes

    def _map(self, index: int) -> MappedBuffer:
        answer, planes = self._question(index)
        self._kernel.ioctl(self._fd, v4l2.QUERYBUF, answer)
        if planes is None:
            places = [(answer.length, answer.m.offset)]
        else:
            places = [(p.length, p.m.mem_offset) for p in planes[: self._memories]]
        memories = tuple(self._kernel.map(self._fd, *place) for place in places)
        return MappedBuffer(memories, self._export(index) if len(memories) == 1 else None)

    def _export(self, index: int) -> int | None:
        """A DMA-BUF of a buffer in one piece; None from a driver that has none to give."""
        asked = v4l2.ExportBuffer(type=self._type, index=index, flags=os.O_RDWR | os.O_CLOEXEC)
        try:
            self._kernel.ioctl(self._fd, v4l2.EXPBUF, asked)
        except OSError as error:
            if error.errno in _NOT_SUPPORTED:
                return None
            raise
        return int(asked.fd)
