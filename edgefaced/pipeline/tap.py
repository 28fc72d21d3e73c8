"""Shows faces of the recognising stage, or a whole frame, to whoever asks at the moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from edgefaced.pipeline.faces import FaceBatch
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.types import Frame


class FrameTap:
    """A copy of the next frame for those who wait for one; no frame is copied for nobody."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: tuple[LatestSlot[Frame], ...] = ()

    @property
    def watched(self) -> bool:
        """Whether anybody waits at the moment."""
        return bool(self._slots)

    def show(self, frame: Frame) -> None:
        """Called inside the frame's lease; never blocks."""
        with self._lock:
            slots, self._slots = self._slots, ()
        if slots:
            chroma = tuple(plane.copy() for plane in frame.chroma)
            copy = replace(frame, pixels=frame.pixels.copy(), chroma=chroma, buffer=None)
            for slot in slots:
                slot.put(copy)

    def take(self, timeout: float) -> Frame | None:
        """The next frame at full resolution, or None where none comes within `timeout` seconds."""
        slot: LatestSlot[Frame] = LatestSlot()
        with self._lock:
            self._slots = (*self._slots, slot)
        try:
            return slot.take(timeout)
        finally:
            with self._lock:
                self._slots = tuple(other for other in self._slots if other is not slot)


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
