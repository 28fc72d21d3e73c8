"""A folder that stands for a GPIO chip, and what a test asks and does there."""

from __future__ import annotations

import time
from pathlib import Path

from edgefaced.gpio.inotify import Changes
from edgefaced.gpio.waiting import readable

PATIENCE_SECONDS = 60.0
"""Longer than anything takes that does not hang."""


class FileChip:
    """Lines as files; a level stays when whoever drove it is killed, as on real hardware."""

    def __init__(self, folder: Path, *lines: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for line in lines:
            (folder / line).write_text("0\n")

    def is_high(self, line: str) -> bool:
        return (self.folder / line).read_bytes()[:1] == b"1"

    def drive(self, line: str, *, high: bool) -> None:
        """What a button or a contact does."""
        (self.folder / line).write_text(f"{int(high)}\n")

    def wait(self, line: str, *, high: bool) -> None:
        """Until the line has this level."""
        changes = Changes(self.folder)
        try:
            end = time.monotonic() + PATIENCE_SECONDS
            while self.is_high(line) is not high:
                assert readable(changes.fd, end - time.monotonic()), f"{line} is not {high}"
                changes.names()
        finally:
            changes.close()
