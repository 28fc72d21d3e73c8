"""Finding the guard of a daemon's doors."""

from __future__ import annotations

from pathlib import Path


def guard_of(daemon: int) -> int:
    """The process that holds the lines; threads and children of the daemon may end meanwhile."""
    for task in Path(f"/proc/{daemon}/task").iterdir():
        for child in read_of_process(task / "children").split():
            if b"edgefaced.doors.guard" in read_of_process(Path(f"/proc/{int(child)}/cmdline")):
                return int(child)
    raise AssertionError("there is no guard")


def read_of_process(file: Path) -> bytes:
    """Nothing where it has just ended."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
