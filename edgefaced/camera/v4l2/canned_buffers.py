"""A canned camera's buffers: real memory, queued, filled and fetched as a driver does it."""

from __future__ import annotations

import errno
import mmap
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exposed:
    """A filled buffer that waits to be fetched; `used` are the bytes of each piece of memory."""

    index: int
    sequence: int
    stamp_ns: int
    flags: int
    used: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """One piece of memory and the canned camera's own way to write into it."""

    fd: int
    view: mmap.mmap


class CannedBuffers:
    """Buffers of one camera; `bells` are the descriptors that ring when one is filled."""

    def __init__(self) -> None:
        self.bells: set[int] = set()
        self.streaming = False
        self._buffers: list[tuple[Memory, ...]] = []
        self._queued: deque[int] = deque()
        self._filled: deque[Exposed] = deque()

    @property
    def queued(self) -> int:
        """How many wait for a frame."""
        return len(self._queued)

    def __getitem__(self, index: int) -> tuple[Memory, ...]:
        if index >= len(self._buffers):
            raise refusal(errno.EINVAL)
        return self._buffers[index]

    def allocate(self, count: int, sizes: Sequence[int]) -> None:
        """`count` buffers with a piece of memory of each of `sizes`, instead of those before."""
        self.free()
        for _ in range(count):
            pieces = []
            for size in sizes:
                fd = os.memfd_create("canned-camera", os.MFD_CLOEXEC)
                os.ftruncate(fd, size)
                pieces.append(Memory(fd, mmap.mmap(fd, size)))
            self._buffers.append(tuple(pieces))

    def free(self) -> None:
        """What somebody has mapped stays there for them."""
        for memory in (memory for buffer in self._buffers for memory in buffer):
            memory.view.close()
            os.close(memory.fd)
        self._buffers, self.streaming = [], False
        self._queued.clear()
        self._filled.clear()

    def queue(self, index: int) -> None:
        """EINVAL for a buffer that is not there, or that the camera has already."""
        _ = self[index]
        if index in self._queued or any(filled.index == index for filled in self._filled):
            raise refusal(errno.EINVAL)
        self._queued.append(index)

    def next_free(self) -> int | None:
        """The buffer that the next frame goes into, if one is queued."""
        return self._queued.popleft() if self.streaming and self._queued else None

    def fill(self, filled: Exposed) -> None:
        """The frame is there; whoever polls is woken."""
        self._filled.append(filled)
        self.ring()

    def take(self, bell: int) -> Exposed:
        """The oldest filled buffer; EAGAIN where none waits."""
        if not self._filled:
            raise refusal(errno.EAGAIN)
        os.eventfd_read(bell)
        return self._filled.popleft()

    def stop(self, bell: int) -> None:
        """Buffers are nobody's again, and frames that were not fetched are lost."""
        for _ in self._filled:
            os.eventfd_read(bell)
        self.streaming = False
        self._queued.clear()
        self._filled.clear()

    def ring(self) -> None:
        for bell in self.bells:
            os.eventfd_write(bell, 1)


def refusal(number: int) -> OSError:
    """As the kernel says it."""
    return OSError(number, os.strerror(number))
