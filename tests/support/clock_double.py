"""A wall clock in a test's hand, for processes of their own."""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("clock_double.c")


class ClockDouble:
    """A library to preload, and the file that says how wrong the clock is."""

    def __init__(self, folder: Path) -> None:
        """Skips where nothing can be compiled."""
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("this machine has no C compiler (Debian package gcc)")
        library = folder / "clock_double.so"
        words = [compiler, "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
        subprocess.run(words, check=True)
        self._file = folder / "clock"
        self._file.write_bytes(struct.pack("qq", 0, 1))
        self.environment = {
            "LD_PRELOAD": str(library),
            "CLOCK_DOUBLE": str(self._file),
            "TZ": "UTC",
        }

    def jump(self, to: datetime, *, synchronised: bool) -> None:
        """From now on it goes from there, a whole second, and is synchronised or not."""
        # To the nanosecond: a second more or less, and what was before the jump would be after it.
        wrong_by = round(to.timestamp()) * 1_000_000_000 - time.time_ns()
        sure = int(synchronised)
        # Whoever looks in between sees a clock that is less sure than it is.
        for number, value in ((1, 0), (0, wrong_by), (1, sure)):
            with self._file.open("r+b", buffering=0) as file:
                file.seek(8 * number)
                file.write(struct.pack("q", value))
