"""The kernel's notice of changes in a folder (Python's library has none)."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path

_MODIFIED, _CLOSED, _MOVED_FROM, _MOVED_TO, _CREATED, _DELETED = 0x2, 0x8, 0x40, 0x80, 0x100, 0x200
_SELF_GONE = 0x400 | 0x800
_CHANGES = _MODIFIED | _CLOSED | _MOVED_FROM | _MOVED_TO | _CREATED | _DELETED | _SELF_GONE
_OVERFLOW = 0x4000
_HEAD = struct.Struct("iIII")


class Changes:
    """Watches the files of one folder."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError where the folder cannot be watched."""
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _error()
        if libc.inotify_add_watch(self._fd, os.fsencode(folder), _CHANGES) < 0:
            error = _error()
            os.close(self._fd)
            raise error

    @property
    def fd(self) -> int:
        """Readable when something has changed."""
        return self._fd

    def names(self) -> set[str]:
        """Files that changed since the last call; "" where any of them may have."""
        found: set[str] = set()
        while True:
            try:
                found.update(_names(os.read(self._fd, 65536)))
            except BlockingIOError:
                return found

    def close(self) -> None:
        """Once."""
        os.close(self._fd)


def _names(data: bytes) -> Iterator[str]:
    position = 0
    while position < len(data):
        _, mask, _, length = _HEAD.unpack_from(data, position)
        position += _HEAD.size
        name = data[position : position + length].rstrip(b"\0")
        position += length
        yield "" if mask & (_OVERFLOW | _SELF_GONE) else os.fsdecode(name)


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
