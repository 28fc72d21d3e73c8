"""A camera with a tally: what was lent, what came back, and which frame was captured when."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from edgefaced.protocols import Camera, CameraCounts, CameraDescription, FrameLease
from edgefaced.types import Frame


class Tally:
    """Counts of one or more cameras; any thread may add to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.lent = 0
        self.returned = 0
        self.newest = -1
        """Number of the frame that was lent last."""
        self.numbers: dict[int, int] = {}
        """Number of a frame by the time at which it was captured; kept where it was asked for."""

    def lend(self, number: int) -> None:
        with self._lock:
            self.lent += 1
            self.newest = number

    def take_back(self) -> None:
        with self._lock:
            self.returned += 1


class TalliedCamera:
    """A Camera that notes every lease of the one it wraps."""

    def __init__(
        self,
        camera: Camera,
        tally: Tally,
        *,
        numbered: bool = False,
        leaving: Callable[[], None] = lambda: None,
    ) -> None:
        """`leaving` is called by the thread that leaves the camera's `with` block."""
        self._camera = camera
        self._tally = tally
        self._numbered = numbered
        self._leaving = leaving

    @property
    def description(self) -> CameraDescription:
        return self._camera.description

    @property
    def counts(self) -> CameraCounts:
        return self._camera.counts

    def next(self, timeout: float) -> FrameLease | None:
        lease = self._camera.next(timeout)
        if lease is None:
            return None
        frame = lease.frame
        self._tally.lend(frame.sequence)
        if self._numbered:
            self._tally.numbers[frame.captured_ns] = frame.sequence
        return _TalliedLease(lease, self._tally)

    def settled(self, timeout: float) -> bool:
        return self._camera.settled(timeout)

    def close(self) -> None:
        self._camera.close()

    def __enter__(self) -> Camera:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leaving()
        self._camera.__exit__(kind, error, traceback)


class _TalliedLease:
    """A lease that tells the tally of its return."""

    __slots__ = ("_lease", "_tally")

    def __init__(self, lease: FrameLease, tally: Tally) -> None:
        self._lease = lease
        self._tally = tally

    @property
    def frame(self) -> Frame:
        return self._lease.frame

    @property
    def small(self) -> Frame:
        return self._lease.small

    @property
    def glance(self) -> Frame:
        return self._lease.glance

    @property
    def copied_bytes(self) -> int:
        return self._lease.copied_bytes

    def release(self) -> None:
        self._lease.release()
        self._tally.take_back()

    def __enter__(self) -> FrameLease:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()
