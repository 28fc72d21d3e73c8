"""Which lines the doors last hung on, for the day when the configuration cannot say."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from edgefaced.doors.wires import LockWires, lock_wires
from edgefaced.models.atomic import published


def remember(file: Path, locks: tuple[LockWires, ...]) -> None:
    """Writes it where it is not so already. Raises StorageError."""
    if recall(file) != locks:
        with published(file) as out:
            out.write(json.dumps([asdict(lock) for lock in locks]).encode())


def recall(file: Path) -> tuple[LockWires, ...]:
    """Nothing where nothing was remembered, or it cannot be read."""
    try:
        return tuple(lock_wires(lock) for lock in json.loads(file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return ()
