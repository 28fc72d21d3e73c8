"""A camera that plays a script: frames, silence, errors and the end, with honest leases."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType

import numpy as np

from edgefaced.camera.lease import LeaseBook
from edgefaced.errors import CameraEnded, LeaseError
from edgefaced.protocols import CameraCounts, CameraDescription, CameraWish, FrameLease
from edgefaced.types import U8, Frame, PixelFormat

Step = U8 | None | Exception | CameraCounts | Callable[[], None]
"""A picture to lend, None for silence, an error to raise, silence with counts that have grown, or
something to do first."""


class ScriptedCamera:
    """Plays its steps and then is over; its frames are 1/30 s apart, however fast it plays."""

    def __init__(self, steps: Iterator[Step], ledger: list[str], *, rate: float = 30) -> None:
        self._steps = steps
        self._frame_ns = round(1e9 / rate)
        self._ledger = ledger
        self._sequence = 0
        self._start_ns = time.monotonic_ns()
        self.book = LeaseBook("scripted")
        self.description = CameraDescription(
            name="scripted",
            device="none",
            width=64,
            height=48,
            pixel_format=PixelFormat.BGR,
            native="BGR",
            frames_per_second=float(rate),
            buffers=3,
            dma=False,
            wish=CameraWish(),
        )
        self.counts = CameraCounts()

    def next(self, timeout: float) -> FrameLease | None:
        for step in self._steps:
            if isinstance(step, Exception):
                raise step
            if step is None:
                return None
            if isinstance(step, CameraCounts):
                self.counts = step
                return None
            if not isinstance(step, np.ndarray):
                step()
                continue
            self._sequence += 1
            captured_ns = self._start_ns + self._sequence * self._frame_ns
            frame = Frame(self._sequence, captured_ns, step, PixelFormat.BGR)
            self._ledger.append("lent")
            return self.book.lend(frame, lambda: self._ledger.append("back"))
        raise CameraEnded("the script is over")

    def settled(self, timeout: float) -> bool:
        return self.book.wait_below(1, timeout)

    def close(self) -> None:
        self._ledger.append("closed")
        if self.book.close():
            raise LeaseError("a lease was still out")

    def __enter__(self) -> ScriptedCamera:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def picture(value: int = 0, width: int = 64, height: int = 48) -> U8:
    """Noise, different for every value."""
    return np.random.default_rng(value).integers(0, 256, (height, width, 3), np.uint8)


def run_in_thread(body: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=body)
    thread.start()
    return thread
