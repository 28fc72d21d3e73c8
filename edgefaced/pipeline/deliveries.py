"""Everything between what happened and the sinks, as stages of a line."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from edgefaced.ledger.records import Record
from edgefaced.pipeline.crew import Crew
from edgefaced.pipeline.deliver import Attempts, ClerkDesk, Desk, Lasting, Momentary, SinkDesk
from edgefaced.pipeline.postbox import Postbox
from edgefaced.pipeline.recorder import Bell, Recorder, Recording
from edgefaced.protocols import ClerkPlan, Delivery, SinkPlan, SinkPlans


@dataclass(frozen=True, slots=True)
class SinkCounts:
    """How one sink is doing. `lost` events it will never get: it was too slow, they were purged
    before it had them, or it refused them for good; `fault` is what it said last, if it fails.
    """

    delivery: Delivery
    waiting: int
    lost: int
    failures: int
    fault: str


class Deliveries:
    """Postbox, recorder and a stage for each sink."""

    def __init__(
        self, camera: str, plans: SinkPlans, recording: Recording | None, crew: Crew
    ) -> None:
        """Adds its stages to the crew. Without `recording` there are no lasting sinks."""
        self.postbox = Postbox(camera, recording=recording is not None)
        self.recorder: Recorder | None = None
        self._bell = Bell(sum(isinstance(plan, ClerkPlan) for plan in plans.values()))
        self._momentary: dict[str, Momentary] = {}
        self._lasting: dict[str, Lasting] = {}
        self._stop = crew.stop
        self._closing = threading.Lock()
        self._announcing = {
            name for name, plan in plans.items() if isinstance(plan, SinkPlan) and plan.announces
        }
        self._asked_to_close = False
        lasting = [name for name, plan in plans.items() if not _momentary(plan)]
        if recording is not None and self.postbox.inbox is not None:
            self.recorder = Recorder(
                self.postbox.inbox, recording, self._bell, self.postbox.announce, lasting
            )
            # A disk or a broker that hangs is reported; it is no reason to start the door anew.
            crew.add("record", self.recorder.run, self.recorder.finish, vital=False)
        elif lasting:
            raise ValueError(f"{', '.join(lasting)}: a lasting sink reads a ledger")
        for name, plan in plans.items():
            if isinstance(plan, SinkPlan) and plan.delivery is Delivery.MOMENTARY:
                self._add_momentary(name, plan, crew)
            elif recording is not None:
                self._add_lasting(name, plan, recording, crew)

    def close(self) -> None:
        """Nothing more will happen: what did is recorded and delivered, then the stages end.

        Sinks that announce end first, so that what they say of their last event is recorded as
        well; a second call waits for nobody.
        """
        with self._closing:
            self._asked_to_close, again = True, self._asked_to_close
            announcing = () if again else tuple(self._announcing)
        for name in announcing:
            self.postbox.close_for(name)
        if not announcing:
            self.postbox.close()

    def _announcer_ended(self, name: str) -> None:
        with self._closing:
            self._announcing.discard(name)
            last = self._asked_to_close and not self._announcing
        if last:
            self.postbox.close()

    def look(self) -> None:
        """Tells of momentary sinks that hang or lose events; for one thread, now and then."""
        for stage in self._momentary.values():
            stage.look()

    def counts(self) -> dict[str, SinkCounts]:
        """By sink; from any thread."""
        dropped, waiting = self.postbox.dropped, self.postbox.waiting
        head = 0 if self.recorder is None else self.recorder.position
        found = {}
        for name, stage in self._momentary.items():
            tried = stage.attempts
            found[name] = SinkCounts(
                Delivery.MOMENTARY, waiting[name], dropped[name], tried.failures, tried.fault
            )
        for name, reader in self._lasting.items():
            cursor, tried = reader.cursor, reader.attempts
            behind, lost = max(head - cursor.position, 0), cursor.lost + reader.refused
            found[name] = SinkCounts(Delivery.LASTING, behind, lost, tried.failures, tried.fault)
        return found

    def _add_momentary(self, name: str, plan: SinkPlan, crew: Crew) -> None:
        outbox = self.postbox.open_for(name)

        def ended(seconds: float) -> bool:
            self._stop.wait(seconds)
            return outbox.closed

        attempts = Attempts(name, self.postbox.announce, self._stop, ended)
        stage = self._momentary[name] = Momentary(
            plan.open,
            outbox,
            attempts,
            plan.patience_seconds,
            None if self.recorder is None else self.recorder.opening,
            self._stop,
            plan.idle,
        )

        def finish() -> None:
            outbox.close()
            if plan.announces:
                self._announcer_ended(name)

        # Who decides about doors must be alive; a journal or a reader of a pipe that hangs is none
        # of the door's business.
        crew.add(f"deliver {name}", stage.run, finish, vital=plan.announces)

    def _add_lasting(
        self, name: str, plan: SinkPlan | ClerkPlan, recording: Recording, crew: Crew
    ) -> None:
        clerk = isinstance(plan, ClerkPlan)

        def ended(seconds: float) -> bool:
            return self._bell.wait_over(seconds, clerk=clerk)

        stage = self._lasting[name] = Lasting(
            name,
            self._desk(name, plan),
            recording.open_ledger,
            self._bell,
            Attempts(name, self.postbox.announce, self._stop, ended),
            self._stop,
            clerk=clerk,
        )
        finish = self._bell.end if clerk else lambda: None
        crew.add(f"deliver {name}", stage.run, finish, vital=False)

    def _desk(self, name: str, plan: SinkPlan | ClerkPlan) -> Callable[[], Desk]:
        if isinstance(plan, SinkPlan):
            open_sink = plan.open
            return lambda: SinkDesk(open_sink())
        open_clerk = plan.open
        return lambda: ClerkDesk(name, open_clerk(), self._answered)

    def _answered(self, records: tuple[Record, ...]) -> None:
        """A clerk's answers are news for everybody."""
        self._bell.ring()
        for record in records:
            self.postbox.show(record.event)


def _momentary(plan: SinkPlan | ClerkPlan) -> bool:
    return isinstance(plan, SinkPlan) and plan.delivery is Delivery.MOMENTARY
