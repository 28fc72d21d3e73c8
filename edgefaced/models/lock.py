"""One process at a time changes the models folder; readers need no lock."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgefaced.models.atomic import make_folder, storage_errors
from edgefaced.models.progress import Progress


@contextmanager
def exclusive(lock: Path, progress: Progress) -> Iterator[None]:
    """Holds the lock for the block; says so where another process has it.

    The kernel drops the lock with the process, so a killed pull leaves none behind.
    """
    make_folder(lock.parent)
    with storage_errors(lock):
        file = lock.open("ab")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("another edgefaced is changing the models: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
