"""Asking a node what it is and which formats, sizes and rates it offers."""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from edgefaced.camera.v4l2 import ioctl as v4l2
from edgefaced.camera.v4l2.choice import WIRES, Offer, SizeRange
from edgefaced.camera.v4l2.kernel import Kernel
from edgefaced.protocols import CameraWish

MOST = 256
"""Of an enumeration: a driver that never ends one is not followed for ever."""

_END = {errno.EINVAL, errno.ENOTTY}
"""The last one was the last, or the driver does not have this enumeration."""

Answer = TypeVar("Answer", bound=ctypes.Structure)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a node is. `buffer_type` is the kernel's, None for a node that captures no pictures."""

    card: str
    bus: str
    buffer_type: int | None


def identify(kernel: Kernel, fd: int) -> Identity:
    """Raises OSError; ENOTTY from something that is no video node."""
    answer = v4l2.Capability()
    kernel.ioctl(fd, v4l2.QUERYCAP, answer)
    named = answer.capabilities & v4l2.CAP_DEVICE_CAPS
    can = answer.device_caps if named else answer.capabilities
    buffer_type = None
    if can & v4l2.CAP_STREAMING:
        if can & v4l2.CAP_VIDEO_CAPTURE:
            buffer_type = v4l2.BUF_TYPE_CAPTURE
        elif can & v4l2.CAP_VIDEO_CAPTURE_MPLANE:
            buffer_type = v4l2.BUF_TYPE_CAPTURE_MPLANE
    return Identity(
        answer.card.decode(errors="replace"), answer.bus_info.decode(errors="replace"), buffer_type
    )


def offers(kernel: Kernel, fd: int, buffer_type: int, wish: CameraWish) -> tuple[Offer, ...]:
    """What the node offers around the wish; formats that we do not read are there without sizes."""
    found = []
    for fmt in _all(kernel, fd, v4l2.ENUM_FMT, lambda n: v4l2.FmtDesc(index=n, type=buffer_type)):
        fourcc = v4l2.fourcc_of(fmt.pixelformat)
        if fourcc not in WIRES:
            found.append(Offer(fourcc, 0, 0))
            continue
        for width, height in dict.fromkeys(_sizes(kernel, fd, fmt.pixelformat, wish)):
            rates = tuple(_rates(kernel, fd, fmt.pixelformat, width, height))
            found.append(Offer(fourcc, width, height, rates))
    return tuple(found)


def _sizes(kernel: Kernel, fd: int, code: int, wish: CameraWish) -> Iterator[tuple[int, int]]:
    wished = wish.size()
    mute = True
    for size in _all(
        kernel, fd, v4l2.ENUM_FRAMESIZES, lambda n: v4l2.FrmSizeEnum(index=n, pixel_format=code)
    ):
        mute = False
        if size.type == v4l2.FRAME_TYPE_DISCRETE:
            yield size.discrete.width, size.discrete.height
            continue
        steps = size.stepwise
        yield SizeRange(
            (steps.min_width, steps.min_height),
            (steps.max_width, steps.max_height),
            (steps.step_width, steps.step_height),
        ).nearest(*wished)
        return
    if mute:  # the driver is asked for the wish, and answers with what it can do
        yield wished


def _rates(kernel: Kernel, fd: int, code: int, width: int, height: int) -> Iterator[float]:
    def question(n: int) -> v4l2.FrmIvalEnum:
        return v4l2.FrmIvalEnum(index=n, pixel_format=code, width=width, height=height)

    for interval in _all(kernel, fd, v4l2.ENUM_FRAMEINTERVALS, question):
        discrete = interval.type == v4l2.FRAME_TYPE_DISCRETE
        shortest = interval.discrete if discrete else interval.stepwise.min
        if shortest.numerator:
            yield shortest.denominator / shortest.numerator
        if not discrete:
            return


def _all(
    kernel: Kernel, fd: int, request: int, question: Callable[[int], Answer]
) -> Iterator[Answer]:
    """Every answer of an enumeration."""
    for index in range(MOST):
        answer = question(index)
        try:
            kernel.ioctl(fd, request, answer)
        except OSError as error:
            if error.errno in _END:
                return
            raise
        yield answer
