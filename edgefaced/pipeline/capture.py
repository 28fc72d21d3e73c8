"""The capturing stage: leases from the camera, the newest into the slot, the rest back at once.

The camera may be absent, busy, silent, frozen or gone; the stage reports it, opens it again with
growing pauses, and beats all the while, so that the watchdog tells a dead camera from a dead
process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from edgefaced.core.presence import luma_thumb
from edgefaced.core.sight import Glance, Sight
from edgefaced.errors import CameraEnded, CameraError, FrameDamaged
from edgefaced.events import CameraChanged, Happening, Trouble
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.figures import Figures
from edgefaced.pipeline.freshness import Freshness
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.pipeline.pace import PaceBoard
from edgefaced.pipeline.tap import FrameTap
from edgefaced.protocols import Camera, CameraCounts, CameraDescription, FrameLease

NEXT_SECONDS = 0.5
"""How long one wait for a frame may take; far below the watchdog's time."""

SILENT_ROUNDS = 6
"""Waits without a frame after which the camera is opened again (3 s)."""

SETTLE_SECONDS = 2.0
"""How long a closing camera waits for a frame that is still being read."""

LONGEST_STRIDE_SECONDS = 1.0
"""However hot it is: a slow camera's strides would be longer than a face is remembered."""

PAUSES_SECONDS = (0.5, 10.0)

BLIND = "the picture is of one shade: it is dark, or the lens is covered"
SEES = "there is something to see again"


class Capturer:
    """Body of the stage."""

    def __init__(
        self,
        open_camera: Callable[[], Camera],
        leases: LatestSlot[FrameLease],
        announce: Callable[[Happening], None],
        *,
        cut: Callable[[], None],
        pace: PaceBoard,
        freshness: Freshness,
        figures: Figures,
        stop: threading.Event,
        frames: FrameTap | None = None,
        watch_sight: bool = True,
        pauses: tuple[float, float] = PAUSES_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`cut` is called where what comes next does not continue what came before; `watch_sight`
        is off for replays, whose pictures may repeat; `pauses` are the first and the longest one
        before the camera is opened again.
        """
        self._open_camera = open_camera
        self._leases = leases
        self._announce = announce
        self._cut = cut
        self._pace = pace
        self._freshness = freshness
        self._figures = figures
        self._stop = stop
        self._frames = frames or FrameTap()
        self._sight = Sight() if watch_sight else None
        self._blind = False
        self._first_pause, self._longest_pause = pauses
        self._now = now
        self._strode_at = float("-inf")
        self._up: bool | None = None
        self._worked = False
        self.first_frame = threading.Event()
        """Set with the first frame ever: the daemon is ready then."""
        self.description: CameraDescription | None = None
        """Of the camera that is open, or was last."""

    def run(self, heartbeat: Heartbeat) -> None:
        """Until `stop`, or the end of a replay that has one."""
        pause = self._first_pause
        while not self._stop.is_set():
            heartbeat.beat()
            self._worked = False
            try:
                self._run_camera(heartbeat)
                return
            except CameraError as error:
                self._report(up=False, detail=str(error))
                self._cut()
            if self._stop.is_set():
                return
            # A camera that gave frames has earned a quick retry.
            if self._worked:
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
            if self._sight is not None:
                self._sight.opened(self._now())
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
        silent, lost, damaged = 0, CameraCounts(), 0
        while not self._stop.is_set():
            heartbeat.beat()
            lease = camera.next(NEXT_SECONDS)
            counts = camera.counts
            if counts != lost:
                self._count_lost(lost, counts)
                damaged += counts.damaged - lost.damaged
                lost = counts
            if lease is not None:
                try:
                    self._deal(lease, camera)
                except FrameDamaged:
                    lease.release()
                    self._figures.lost["damaged"] += 1
                else:
                    silent = damaged = 0
                continue
            silent += 1
            if silent >= SILENT_ROUNDS:
                whole = f"no whole frame, {damaged} damaged ones" if damaged else "no frame"
                raise CameraError(f"{whole} for {silent * NEXT_SECONDS:g} s")

    def _count_lost(self, before: CameraCounts, now: CameraCounts) -> None:
        lost = self._figures.lost
        lost["damaged"] += now.damaged - before.damaged
        lost["missed"] += now.missed - before.missed
        lost["overtaken"] += now.overtaken - before.overtaken

    def _deal(self, lease: FrameLease, camera: Camera) -> None:
        """Counts a frame; passes it on or gives it back. Raises FrameDamaged."""
        figures, band = self._figures, self._pace.current.band
        figures.frames["captured"] += 1
        if self._frames.watched:
            self._frames.show(lease.frame)
        if band.rest:
            self._give_back(lease, "rest")
            self._arrive(camera)
            return
        now = self._now()
        overdue = now - self._strode_at >= LONGEST_STRIDE_SECONDS
        if figures.frames["captured"] % band.frame_stride and not overdue:
            # Not even glanced at: what comes compressed is then never decoded.
            self._give_back(lease, "stride")
            return
        self._strode_at = now
        if self._repeats(lease, now):
            self._give_back(lease, "repeated")
            return
        self._arrive(camera)
        self._freshness.arrived(lease.glance.captured_ns, time.monotonic_ns())
        displaced = self._leases.put(lease)
        if displaced is not None:
            figures.frames["displaced"] += 1
            displaced.release()

    def _arrive(self, camera: Camera) -> None:
        """The camera gives pictures."""
        self._worked = True
        self._report(up=True, detail=summary(camera.description))
        self.first_frame.set()

    def _give_back(self, lease: FrameLease, why: str) -> None:
        self._figures.frames[why] += 1
        lease.release()

    def _repeats(self, lease: FrameLease, now: float) -> bool:
        """Whether the frame is one of before. Raises CameraError for a frozen camera."""
        if self._sight is None:
            return False
        glance = self._sight.look(luma_thumb(lease.glance), now)
        if self._sight.blind is not self._blind:
            self._blind = self._sight.blind
            self._announce(Trouble("camera", BLIND if self._blind else SEES))
        if glance is Glance.FROZEN:
            lease.release()
            raise CameraError("the same picture again and again: the camera is frozen")
        return glance is Glance.REPEATED

    def _report(self, *, up: bool, detail: str) -> None:
        self._figures.camera_up = up
        if up is not self._up:
            self._up = up
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
