"""The few system calls a camera needs, behind one seam, so that a canned device can answer them."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
from typing import Protocol


class Kernel(Protocol):
    """What a V4L2 node answers to. Every call raises OSError as the kernel does.

    A descriptor from `open` can be polled: readable when a filled buffer waits.
    """

    def open(self, path: str) -> int: ...

    def close(self, fd: int) -> None: ...

    def ioctl(self, fd: int, request: int, argument: ctypes.Structure | ctypes.c_int) -> None:
        """Never waits; the answer is written into `argument`."""
        ...

    def map(self, fd: int, length: int, offset: int) -> mmap.mmap:
        """A shared mapping to read from; it lives until the last view of it is gone."""
        ...


class LinuxKernel:
    """The real one."""

    def open(self, path: str) -> int:
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def close(self, fd: int) -> None:
        os.close(fd)

    def ioctl(self, fd: int, request: int, argument: ctypes.Structure | ctypes.c_int) -> None:
        while True:
            try:
                fcntl.ioctl(fd, request, argument)
                return
            except InterruptedError:
                continue

    def map(self, fd: int, length: int, offset: int) -> mmap.mmap:
        # Read-only: whoever writes into a frame by mistake fails, and spoils nobody's picture.
        return mmap.mmap(fd, length, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ, offset=offset)
