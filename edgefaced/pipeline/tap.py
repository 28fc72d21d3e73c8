"""Shows the faces that the recognising stage gets to whoever asks for them at the moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from edgefaced.pipeline.faces import FaceBatch
from edgefaced.pipeline.handoff import LatestSlot


class FaceTap:
    """Newest wins, nobody is waited for, and nothing is kept; outlives the line."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: tuple[LatestSlot[FaceBatch], ...] = ()

    @property
    def watched(self) -> bool:
        """Whether anybody looks at the moment."""
        return bool(self._slots)

    def show(self, batch: FaceBatch) -> None:
        """Never blocks; costs nothing where nobody looks."""
        for slot in self._slots:
            slot.put(batch)

    @contextmanager
    def watching(self) -> Iterator[LatestSlot[FaceBatch]]:
        """Batches from now on; a reader that is slow sees the newest only."""
        slot: LatestSlot[FaceBatch] = LatestSlot()
        with self._lock:
            self._slots = (*self._slots, slot)
        try:
            yield slot
        finally:
            with self._lock:
                self._slots = tuple(other for other in self._slots if other is not slot)
