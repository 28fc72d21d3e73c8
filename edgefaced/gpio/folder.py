"""A chip made of files, for trying out and for tests: one small file per line, "0" or "1" in it.

`mkdir pins; echo 0 > pins/relay; echo 0 > pins/button` makes one with two lines. What a file holds
is the voltage; it stays when whoever held the line is gone, as real hardware's does. Nothing here
bounces or floats, so debounce and bias have no effect; changes that follow each other faster than
they are read are seen as one, or as none where the level is back.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

from edgefaced.errors import GpioError, GpioLost
from edgefaced.gpio.faults import listed, spoken
from edgefaced.gpio.inotify import Changes
from edgefaced.gpio.lines import Bias, Chip, Edge, Edges, InputLine, OutputLine
from edgefaced.gpio.waiting import readable

_LEVELS = {b"0": False, b"1": True}


def open_folder(folder: Path) -> Chip:
    """Raises GpioLost where there is no such folder."""
    if not folder.is_dir():
        raise GpioLost(
            f"no folder {folder} to stand for a GPIO chip",
            "make it, and in it a file with 0 in it for each line",
        )
    return FolderChip(folder)


class FolderChip:
    """A folder as a chip."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        return f"files in {self._folder}"

    def output(self, line: str, *, active_low: bool = False) -> OutputLine:
        return FileOutput(self._file(line), active_low)

    def input(
        self,
        line: str,
        *,
        edges: Edges = Edges.BOTH,
        debounce: float = 0.0,
        bias: Bias = Bias.AS_IS,
        active_low: bool = False,
    ) -> InputLine:
        return FileInput(self._file(line), edges, active_low)

    def close(self) -> None:
        """Holds nothing."""

    def _file(self, line: str) -> Path:
        with spoken(str(self._folder), "list the lines"):
            lines = sorted(
                file.name for file in self._folder.iterdir() if not file.name.startswith(".")
            )
        if line not in lines:
            raise GpioLost(
                f"{self._folder}: no line {line!r}",
                f"there are: {listed(lines)}; a line is a file with 0 in it",
            )
        return self._folder / line


class _Held:
    """A line's file, locked against others for as long as it is held."""

    def __init__(self, file: Path) -> None:
        self.file = file
        with spoken(str(file), "take the line", lambda: _holder(file)):
            fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(fd)
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY)) from error
        self._fd: int | None = fd

    @property
    def held(self) -> bool:
        return self._fd is not None

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class FileOutput:
    """A file that is written."""

    def __init__(self, file: Path, active_low: bool) -> None:
        self._held, self._active_low = _Held(file), active_low
        try:
            self.set(False)
        except GpioError:
            self._held.release()
            raise

    def set(self, active: bool) -> None:
        file = self._held.file
        if not self._held.held:
            raise GpioError(f"{file}: the line was given back")
        with spoken(str(file), "set the line"):
            # In place and without cutting it off first: a reader never sees an empty file.
            fd = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.pwrite(fd, b"1\n" if active is not self._active_low else b"0\n", 0)
            finally:
                os.close(fd)

    def close(self) -> None:
        if not self._held.held:
            return
        try:
            self.set(False)
        finally:
            self._held.release()


class FileInput:
    """A file that is watched."""

    def __init__(self, file: Path, edges: Edges, active_low: bool) -> None:
        self._held, self._edges, self._active_low = _Held(file), edges, active_low
        self._active = active_low  # an empty file is a low voltage
        try:
            with spoken(str(file), "watch the line"):
                self._changes = Changes(file.parent)
            try:
                self._active = self.level()
            except GpioError:
                self._changes.close()
                raise
        except GpioError:
            self._held.release()
            raise

    def wait(self, timeout: float) -> tuple[Edge, ...]:
        until = time.monotonic() + timeout
        while readable(self._changes.fd, until - time.monotonic()):
            if not self._changes.names() & {self._held.file.name, ""}:
                continue  # another line's
            now, active = time.monotonic_ns(), self.level()
            if active is self._active:
                continue
            self._active = active
            if self._edges.include(active):
                return (Edge(active, now),)
        return ()

    def level(self) -> bool:
        file = self._held.file
        with spoken(str(file), "read the line"):
            content = file.read_bytes()[:16].strip()
        if not content:  # being written, or just touched
            return self._active
        if content not in _LEVELS:
            raise GpioError(f"{file}: holds {content.decode(errors='replace')!r}", "0 or 1")
        return _LEVELS[content] is not self._active_low

    @property
    def fd(self) -> int:
        return self._changes.fd

    def close(self) -> None:
        if self._held.held:
            self._held.release()
            self._changes.close()


def _holder(file: Path) -> str:
    """The program that has the file's lock, as far as the kernel tells."""
    try:
        inode = str(file.stat().st_ino)
        for line in Path("/proc/locks").read_text().splitlines():
            # 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
            fields = line.split()
            if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].split(":")[-1] == inode:
                program = Path(f"/proc/{fields[4]}/comm").read_text().strip()
                return f"{program} ({fields[4]})"
    except OSError:  # ended meanwhile, or not to be seen from here
        return ""
    return ""
