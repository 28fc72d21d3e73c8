"""The capturing stage: leases from the camera, the newest into the slot, the rest back at once.

The camera may be absent, busy, silent, frozen or gone; the stage reports it, opens it again with
growing pauses, and beats all the while, so that the watchdog tells a dead camera from a dead
process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from edgefaced.core.presence import luma_thumb
from edgefaced.errors import CameraEnded, CameraError
from edgefaced.events import CameraChanged, Happening
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.figures import Figures
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.pipeline.pace import PaceBoard
from edgefaced.protocols import Camera, CameraDescription, FrameLease
from edgefaced.types import U8

NEXT_SECONDS = 0.5
"""How long one wait for a frame may take; far below the watchdog's time."""

SILENT_ROUNDS = 6
"""Waits without a frame after which the camera is opened again (3 s)."""

SETTLE_SECONDS = 2.0
"""How long a closing camera waits for a frame that is still being read."""

FROZEN_FRAMES = 90
"""Frames equal to the byte after which a camera is frozen: a sensor's noise never repeats."""

PAUSES_SECONDS = (0.5, 10.0)


class Capturer:
    """Body of the stage."""

    def __init__(
        self,
        open_camera: Callable[[], Camera],
        leases: LatestSlot[FrameLease],
        announce: Callable[[Happening], None],
        *,
        pace: PaceBoard,
        figures: Figures,
        stop: threading.Event,
        repeats_are_faults: bool = True,
        pauses: tuple[float, float] = PAUSES_SECONDS,
    ) -> None:
        """`repeats_are_faults` is off for replayed pictures, which do repeat; `pauses` are the
        first and the longest one before the camera is opened again.
        """
        self._open_camera = open_camera
        self._leases = leases
        self._announce = announce
        self._pace = pace
        self._figures = figures
        self._stop = stop
        self._watch_repeats = repeats_are_faults
        self._first_pause, self._longest_pause = pauses
        self._up: bool | None = None
        self._last_thumb: U8 | None = None
        self._repeats = 0
        self.first_frame = threading.Event()
        """Set with the first frame ever: the daemon is ready then."""
        self.description: CameraDescription | None = None
        """Of the camera that is open, or was last."""

    def run(self, heartbeat: Heartbeat) -> None:
        """Until `stop`, or the end of a replay that has one."""
        pause = self._first_pause
        while not self._stop.is_set():
            heartbeat.beat()
            captured = self._figures.frames["captured"]
            try:
                self._run_camera(heartbeat)
                return
            except CameraError as error:
                self._report(up=False, detail=str(error))
            if self._stop.is_set():
                return
            # A camera that gave frames has earned a quick retry.
            if self._figures.frames["captured"] > captured:
                pause = self._first_pause
            self._wait(pause, heartbeat)
            pause = min(pause * 2, self._longest_pause)
            self._figures.camera_restarts += 1

    def finish(self) -> None:
        """Closes the output; a lease that waits there is released."""
        waiting = self._leases.close()
        if waiting is not None:
            waiting.release()

    def _run_camera(self, heartbeat: Heartbeat) -> None:
        """Until `stop` or the end of a replay, which it lets the detecting stage see to the end."""
        with self._open_camera() as camera:
            self.description = camera.description
            try:
                self._take_frames(camera, heartbeat)
            except CameraEnded:
                while not (self._stop.is_set() or camera.settled(NEXT_SECONDS)):
                    heartbeat.beat()
            finally:
                # All leases of this camera go back before it closes: the one in the slot now, the
                # one being read as soon as its reader is done.
                waiting = self._leases.withdraw()
                if waiting is not None:
                    waiting.release()
                camera.settled(SETTLE_SECONDS)

    def _take_frames(self, camera: Camera, heartbeat: Heartbeat) -> None:
        silent = 0
        while not self._stop.is_set():
            heartbeat.beat()
            lease = camera.next(NEXT_SECONDS)
            if lease is not None:
                silent = 0
                self._deal(lease, camera)
                continue
            silent += 1
            if silent >= SILENT_ROUNDS:
                raise CameraError(f"no frame for {silent * NEXT_SECONDS:g} s")

    def _deal(self, lease: FrameLease, camera: Camera) -> None:
        """Counts a frame; passes it on or gives it back."""
        figures, band = self._figures, self._pace.current.band
        figures.frames["captured"] += 1
        if self._frozen(lease):
            lease.release()
            raise CameraError(f"the same picture {FROZEN_FRAMES} times: the camera is frozen")
        self._report(up=True, detail=summary(camera.description))
        self.first_frame.set()
        skipped = (
            "rest"
            if band.rest
            else "stride"
            if figures.frames["captured"] % band.frame_stride
            else None
        )
        if skipped is not None:
            figures.frames[skipped] += 1
            lease.release()
            return
        displaced = self._leases.put(lease)
        if displaced is not None:
            figures.frames["displaced"] += 1
            displaced.release()

    def _frozen(self, lease: FrameLease) -> bool:
        if not self._watch_repeats:
            return False
        thumb = luma_thumb(lease.small)
        same = self._last_thumb is not None and np.array_equal(thumb, self._last_thumb)
        self._last_thumb = thumb
        # A covered lens is black and may well repeat: that is no fault of the camera.
        self._repeats = self._repeats + 1 if same and thumb.max() > thumb.min() else 0
        return self._repeats >= FROZEN_FRAMES

    def _report(self, *, up: bool, detail: str) -> None:
        self._figures.camera_up = up
        if up is not self._up:
            self._up = up
            self._repeats, self._last_thumb = 0, None
            self._announce(CameraChanged(up, detail))

    def _wait(self, seconds: float, heartbeat: Heartbeat) -> None:
        """A pause in which the stage still beats."""
        while seconds > 0 and not self._stop.wait(min(seconds, NEXT_SECONDS)):
            heartbeat.beat()
            seconds -= NEXT_SECONDS


def summary(description: CameraDescription) -> str:
    """One line of what a camera gives, and of what was asked and is not given."""
    rate = description.frames_per_second
    line = f"{description.name}: {description.width}x{description.height} {description.native}"
    line += "" if rate is None else f" at {rate:g} frames a second"
    return "; ".join((line, *description.differences()))
