"""The whole line from camera to sinks: which stage hands what to which.

capture --LatestSlot[FrameLease]--> detect --LatestSlot[FaceBatch]--> recognise --> Postbox
                                                                                      |
                    lasting sinks <--cursors-- ledger <-- record <--Outbox[Announcement]--+
                    momentary sinks <--Outbox[Announcement], once it is recorded or not --+
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Protocol

from edgefaced.core.gates import QualityLimits
from edgefaced.core.policy import DecisionPolicy
from edgefaced.core.presence import PresenceGate
from edgefaced.events import Happening, Trouble
from edgefaced.gpio.lines import InputLine
from edgefaced.pipeline.attention import Attention
from edgefaced.pipeline.capture import PAUSES_SECONDS, Capturer
from edgefaced.pipeline.crew import Crew, Failure, Heartbeat, Straggler
from edgefaced.pipeline.deliveries import Deliveries
from edgefaced.pipeline.faces import FaceBatch
from edgefaced.pipeline.figures import Figures
from edgefaced.pipeline.freshness import Freshness
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.pipeline.interest import Interest
from edgefaced.pipeline.judge import Judge, Knowledge
from edgefaced.pipeline.motion import MotionWatch
from edgefaced.pipeline.pace import PaceBoard
from edgefaced.pipeline.perceive import Perceiver
from edgefaced.pipeline.priority import go_first
from edgefaced.pipeline.recorder import Recording
from edgefaced.pipeline.tap import FaceTap, FrameTap
from edgefaced.pipeline.tray import Tray
from edgefaced.pipeline.watch import Watcher
from edgefaced.protocols import Camera, FrameLease, SinkPlans
from edgefaced.types import ColourOrder

LAST_SHARE = 0.3
"""Of a stop's deadline, for delivering what a hanging stage keeps from its end."""


class Attending(Protocol):
    """A stage beside the path of the frames that announces what happens elsewhere."""

    def connect(
        self,
        announce: Callable[[Happening], None],
        camera: Callable[[], str | None],
        stop: threading.Event,
    ) -> None:
        """Before it runs: where happenings go, which camera is open, and what ends everything."""
        ...

    def run(self, heartbeat: Heartbeat) -> None: ...

    def end(self) -> None:
        """Ends it soon; from any thread."""
        ...


class Networks(Protocol):
    """Knows what runs each network that was opened."""

    def connect(self, announce: Callable[[str], None]) -> None:
        """Where it is to be said, from any thread, that one does not run on what it should."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What a line is made of. The functions open things in the thread that will use them."""

    camera_name: str
    open_camera: Callable[[], Camera]
    open_watcher: Callable[[], AbstractContextManager[Watcher]]
    open_knowledge: Callable[[], AbstractContextManager[Knowledge]]
    sinks: SinkPlans
    colour_order: ColourOrder
    limits: QualityLimits
    policy: DecisionPolicy = field(default_factory=DecisionPolicy)
    gate: PresenceGate = field(default_factory=PresenceGate)
    open_motion: Callable[[], InputLine] | None = None
    """A motion sensor, where there is one."""
    replay: bool = False
    """A replay may repeat pictures; with `lossless` no frame of it is passed over."""
    lossless: bool = False
    camera_pauses: tuple[float, float] = PAUSES_SECONDS
    """The first and the longest one before a camera is opened again."""
    tap: FaceTap = field(default_factory=FaceTap)
    stop: threading.Event = field(default_factory=threading.Event)
    """Ends every waiting; the line sets it when it stops."""
    doors: Attending | None = None
    """Locks, buttons and contacts; who decides about them is a sink."""
    buttons: Attending | None = None
    """Of attendance: for coming and for going."""
    networks: Networks | None = None
    """What runs the networks, once they are open."""
    again: SimpleQueue[str] = field(default_factory=SimpleQueue)
    """Brings persons who are to be announced once more when they are seen next."""
    tray: Tray = field(default_factory=lambda: Tray(None))
    """Pictures for who keeps them; without a wish none is made."""
    recording: Recording | None = None
    """Where events are recorded; without it they are only shown to momentary sinks."""


class Line:
    """All stages of one camera."""

    def __init__(self, parts: Parts) -> None:
        self.camera_name = parts.camera_name
        self.figures = Figures()
        self.pace = PaceBoard()
        self.tap, self.frames, self.tray = parts.tap, FrameTap(), parts.tray
        self.doors = parts.doors
        self.crew = Crew(parts.stop)
        # Consumers first, so that the first frame meets networks that are loaded or loading.
        self.deliveries = Deliveries(parts.camera_name, parts.sinks, parts.recording, self.crew)
        self.postbox = self.deliveries.postbox
        self.tray.announce = self.postbox.announce
        self.networks = parts.networks
        if parts.networks is not None:
            parts.networks.connect(lambda said: self.postbox.announce(Trouble("inference", said)))
        leases: LatestSlot[FrameLease] = LatestSlot(lossless=parts.lossless)
        batches: LatestSlot[FaceBatch] = LatestSlot(lossless=parts.lossless)
        interest, tap, stop = Interest(), self.tap, self.crew.stop
        self.motion = motion = (
            None
            if parts.open_motion is None
            else MotionWatch(parts.open_motion, self.postbox.announce, stop)
        )
        self.freshness = freshness = Freshness(unlimited=parts.lossless)
        perceiver = Perceiver(
            leases,
            batches,
            parts.open_watcher,
            order=parts.colour_order,
            attention=Attention(parts.limits, interest, tap),
            gate=parts.gate,
            moved=lambda now: motion is not None and motion.moved(now),
            pace=self.pace,
            freshness=freshness,
            figures=self.figures,
            stop=stop,
            tray=self.tray,
            patient=parts.lossless,
        )
        self.capturer = Capturer(
            parts.open_camera,
            leases,
            self.postbox.announce,
            cut=perceiver.cut,
            pace=self.pace,
            freshness=freshness,
            figures=self.figures,
            stop=stop,
            frames=self.frames,
            watch_sight=not parts.replay,
            pauses=parts.camera_pauses,
        )
        judge = Judge(
            batches,
            self.postbox.announce,
            parts.open_knowledge,
            tap=tap,
            interest=interest,
            policy=parts.policy,
            freshness=freshness,
            figures=self.figures,
            stop=stop,
            tray=self.tray,
            again=parts.again,
        )

        def judge_ends() -> None:
            judge.finish()
            if motion is not None:
                motion.end()
            if parts.buttons is not None:
                parts.buttons.end()
            self.deliveries.close()

        self.crew.add("recognise", judge.run, judge_ends)
        self.crew.add("detect", perceiver.run, perceiver.finish)
        self.crew.add("capture", self._capture, self.capturer.finish)
        if motion is not None:
            self.crew.add("listen", motion.run, motion.end)
        if parts.doors is not None:
            parts.doors.connect(self.postbox.announce, self._camera_found, stop)
            self.crew.add("doors", parts.doors.run, parts.doors.end)
        if parts.buttons is not None:
            parts.buttons.connect(self.postbox.announce, self._camera_found, stop)
            self.crew.add("buttons", parts.buttons.run, parts.buttons.end)
        self.crew.tell_failure = self._announce_failure

    def _camera_found(self) -> str | None:
        """What the open camera calls itself."""
        description = self.capturer.description
        return None if description is None else description.name

    def _announce_failure(self, failure: Failure) -> None:
        self.postbox.announce(Trouble(failure.stage, f"failed, and all ends: {failure.error}"))

    def _capture(self, heartbeat: Heartbeat) -> None:
        go_first()
        self.capturer.run(heartbeat)

    def start(self) -> None:
        """Starts every stage."""
        self.crew.start()

    def stop(self, deadline_seconds: float) -> list[Straggler]:
        """Ends every stage: leases returned, events delivered; who hangs is named."""
        hanging = self.crew.join(deadline_seconds * (1 - LAST_SHARE))
        if hanging:
            # Who hangs closes nothing behind it: what has happened is delivered all the same.
            self.deliveries.close()
            hanging = self.crew.join(deadline_seconds * LAST_SHARE)
        return hanging
