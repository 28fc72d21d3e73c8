"""What the kernel's error numbers mean for a camera, and the way out."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from edgefaced.errors import CameraBusy, CameraError, CameraLost

_GONE = {errno.ENODEV, errno.ENXIO, errno.ENOENT}
_FORBIDDEN = {errno.EACCES, errno.EPERM}
_BROKEN_STREAM = {errno.EIO, errno.EPIPE, errno.EPROTO, errno.ESHUTDOWN}

Holders = Callable[[str], Sequence[str]]
"""Who has a node open, as "program (process id)"."""


@dataclass(frozen=True, slots=True)
class spoken:
    """Turns the kernel's refusal into a CameraError that says what was being done.

    By a generator, the refusal would end in its own traceback, and so keep the frames of a camera
    that is gone until the collector comes.
    """

    device: str
    doing: str
    holders: Holders

    def __enter__(self) -> None:
        """Nothing is done beforehand."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            raise camera_error(error, self.device, self.doing, self.holders) from error


def camera_error(error: OSError, device: str, doing: str, holders: Holders) -> CameraError:
    """The error of our own for one of the kernel's."""
    what = f"{device}: {doing}: {error.strerror or error}"
    if error.errno in _GONE:
        return CameraLost(what, "is the camera plugged in? `v4l2-ctl --list-devices`")
    if error.errno == errno.EBUSY:
        users = ", ".join(holders(device))
        by = f"close {users}" if users else "another program uses the camera"
        return CameraBusy(what, by)
    if error.errno in _FORBIDDEN:
        return CameraError(what, "only the group `video` may: `sudo usermod -aG video USER`")
    if error.errno in _BROKEN_STREAM:
        return CameraLost(what, "the driver has given up: cable, hub, power?")
    return CameraError(what)


def who_holds(device: str, *, proc: Path = Path("/proc")) -> tuple[str, ...]:
    """Other processes that have the node open, as far as this one may look."""
    try:
        node = Path(device).stat().st_rdev
    except OSError:
        return ()
    found = []
    for process in sorted(proc.glob("[0-9]*"), key=lambda p: int(p.name)):
        if int(process.name) == os.getpid():
            continue
        try:
            if any(_is(link, node) for link in (process / "fd").iterdir()):
                found.append(f"{(process / 'comm').read_text().strip()} ({process.name})")
        except OSError:  # ended meanwhile, or somebody else's
            continue
    return tuple(found)


def _is(link: Path, node: int) -> bool:
    try:
        return node != 0 and link.stat().st_rdev == node
    except OSError:
        return False
