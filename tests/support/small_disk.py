"""A disk that is soon full: a file system of a few megabytes in memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mounted at a new folder; skips where that cannot be."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder.mkdir()
    size = f"size={megabytes}m,mode=700"
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", size, "none", str(folder)],
            check=False,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("not here: mount (apt-get install mount)")
    if mounted.returncode != 0:
        pytest.skip("this machine does not let us mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
