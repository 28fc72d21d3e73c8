"""The socket file: made for owner and group only, and taken over only from the dead."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgefaced.errors import ConfigError

MODE = 0o660
BACKLOG = 16
ANSWER_SECONDS = 1.0


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """A listening socket at `path`; the file goes with it.

    Raises ConfigError where there cannot be one, or somebody answers there.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with listener:
        try:
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            with _alone_in(path.parent):
                _make_way(path)
                # Given before there is a file, so that it is never open to more than it should be.
                os.fchmod(listener.fileno(), MODE)
                listener.bind(str(path))
                path.chmod(MODE)
                listener.listen(BACKLOG)
                ours = path.stat().st_ino
        except OSError as error:
            # "AF_UNIX path too long" has no number.
            raise _cannot(path, error.strerror or str(error)) from error
        try:
            yield listener
        finally:
            _remove(path, ours)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Of two daemons that start at once, one looks and binds before the other looks."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make_way(path: Path) -> None:
    """Removes a socket on which nobody answers; nothing else is touched."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise _cannot(path, "there is a file that is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(ANSWER_SECONDS)
        answer = probe.connect_ex(str(path))
    if answer != errno.ECONNREFUSED:
        raise _cannot(path, "another daemon answers there")
    path.unlink()


def _remove(path: Path, ours: int) -> None:
    """Unless another file stands there by now."""
    try:
        if path.lstat().st_ino == ours:
            path.unlink()
    except OSError:
        return


def _cannot(path: Path, why: str) -> ConfigError:
    return ConfigError(f"control.socket = {path}: {why}", "there is no status or enrolment by it")
