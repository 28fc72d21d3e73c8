"""Events as lines of JSON: to a file that others may move or cut meanwhile, or to a stream."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TextIO

from edgefaced.events import Event
from edgefaced.sinks.wire import NameOf, described, packed

MODE = 0o640


class ReaderGone(Exception):
    """Whoever read the stream (`| head`) has gone for good: nothing that is worth another try."""


class StreamLines:
    """Writes each event to a stream at once; with names where `name_of` is given."""

    def __init__(self, stream: TextIO, name_of: NameOf | None = None) -> None:
        self._stream = stream
        self._name_of = name_of

    def emit(self, event: Event) -> None:
        """Raises OSError where the stream cannot be written, ReaderGone where nobody reads it."""
        body = described(event, self._name_of)
        try:
            self._stream.write(json.dumps(body, ensure_ascii=False) + "\n")
            self._stream.flush()
        except BrokenPipeError as error:
            raise ReaderGone from error

    def close(self) -> None:
        """The stream is its owner's."""


class FileLines:
    """Appends each event to a file, on the disk when `emit` returns where `durable`.

    A file that was moved, removed or cut (logrotate, whichever way) is noticed before each line;
    no signal is needed. A line is there whole or not at all.
    """

    def __init__(self, path: Path, *, durable: bool = True, name_of: NameOf | None = None) -> None:
        self._path = path
        self._durable = durable
        self._name_of = name_of
        self._descriptor: int | None = None

    def emit(self, event: Event) -> None:
        """Raises OSError; the file then ends where it ended before."""
        line = packed(described(event, self._name_of)) + b"\n"
        descriptor = self._opened()
        end = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, line) != len(line):
                raise OSError(f"{self._path}: the disk is full")
            if self._durable:
                os.fdatasync(descriptor)
        except OSError:
            # What was begun is taken back, for the line comes again.
            os.ftruncate(descriptor, end)
            raise

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        if self._descriptor is not None and not self._is_still_there(self._descriptor):
            self.close()
        if self._descriptor is None:
            self._descriptor = _open(self._path)
        return self._descriptor

    def _is_still_there(self, descriptor: int) -> bool:
        try:
            named = self._path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(descriptor))


def _open(path: Path) -> int:
    """The file, ready for a new line; a power cut may have left half of one at its end."""
    # Not blocking: a named pipe that nobody reads is refused and not waited for.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, MODE)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path}: is no regular file")
        if status.st_size and os.pread(descriptor, 1, status.st_size - 1) != b"\n":
            os.write(descriptor, b"\n")
        if not status.st_size:
            _sync_folder(path.parent)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
