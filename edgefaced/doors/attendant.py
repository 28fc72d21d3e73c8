"""The doors' own stage: keeps a guard, listens to buttons and contacts, renews what is held open.

Whatever is missing (a chip, a line, the guard) is told once and tried again; meanwhile the doors
that depend on it stay shut, and everything else goes on.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from edgefaced.doors.guarded import GuardGone, GuardProcess
from edgefaced.doors.house import House
from edgefaced.doors.plan import DoorPlan, InputWire
from edgefaced.doors.remembered import remember
from edgefaced.doors.safe import make_safe
from edgefaced.doors.wires import Fault, Late, Locked, Ready, Report, Sent, Unlocked
from edgefaced.errors import DependencyMissing, GpioError, StorageError
from edgefaced.events import Happening
from edgefaced.gpio.choose import open_chip
from edgefaced.gpio.lines import Edge, Edges, InputLine
from edgefaced.pipeline.crew import Heartbeat

ROUND_SECONDS = 0.5
"""A round without news; shorter than a lease by far."""

GRACE_SECONDS = 1.0
"""How late a guard may be before it is taken to hang."""

PAUSE_SECONDS = 1.0
"""Before what has failed is tried again."""


class Attendant:
    """Body of the stage."""

    def __init__(self, house: House, marker: Path, lines_file: Path) -> None:
        """`marker` is where a guard notes what is unlocked, `lines_file` where lines are noted."""
        self.house = house
        self._marker = marker
        self._lines_file = lines_file
        self._stop = threading.Event()
        self._over = threading.Event()
        self._locks = tuple(plan.wires for plan in house.plans.doors if plan.wires.outputs)
        self._inputs = [
            Input(plan, wire, hear)
            for plan in house.plans.doors
            for wire, hear in ((plan.button, self._button), (plan.contact, self._contact))
            if wire is not None
        ]
        self._guard: GuardProcess | None = None
        self._try_again = 0.0
        self._said = ""

    def connect(
        self,
        announce: Callable[[Happening], None],
        camera: Callable[[], str | None],
        stop: threading.Event,
    ) -> None:
        """Where happenings go, which camera is open (its name for itself), and what ends it all."""
        self.house.connect(announce, camera)
        self._stop = stop

    def run(self, heartbeat: Heartbeat) -> None:
        """Until everything stops, or `end`."""
        self.house.open_book()
        self._remember_lines()
        if not self._locks:
            self.house.guard_up(_nothing_to_tell)
        try:
            while not (self._stop.is_set() or self._over.is_set()):
                heartbeat.beat()
                self._keep_guard()
                self.house.recall_passages()
                self._listen()
                self.house.tick()
        finally:
            self._end_guard("the daemon ends")
            for listener in self._inputs:
                listener.close()

    def _remember_lines(self) -> None:
        try:
            remember(self._lines_file, self._locks)
        except StorageError as error:
            self.house.say(error.message)

    def end(self) -> None:
        """Nothing more will be decided; from any thread."""
        self._over.set()

    def _keep_guard(self) -> None:
        if not self._locks:
            return
        if self._guard is None and time.monotonic() >= self._try_again:
            self._try_again = time.monotonic() + PAUSE_SECONDS
            try:
                self._guard = GuardProcess(self._locks, self._marker)
            except GuardGone as error:
                self._lose_guard(str(error))
        if self.house.overdue(GRACE_SECONDS) is None:
            return
        # It may be we who are late: what the guard has answered meanwhile counts first.
        self._hear_guard()
        late = self.house.overdue(GRACE_SECONDS)
        if late is not None and self._guard is not None:
            self._guard.kill()
            self._lose_guard(f"{late}: the guard of the locks did not do its work in time")

    def _listen(self) -> None:
        """Waits for news of the guard and of the inputs, for a round at most."""
        for listener in self._inputs:
            listener.open(self.house)
        poll = select.poll()
        hears: dict[int, Callable[[], None]] = {}
        if self._guard is not None:
            hears[self._guard.fd] = self._hear_guard
        for listener in self._inputs:
            if listener.fd is not None:
                hears[listener.fd] = listener.hear
        for fd in hears:
            poll.register(fd, select.POLLIN)
        for fd, _ in poll.poll(ROUND_SECONDS * 1000):
            hears[fd]()

    def _hear_guard(self) -> None:
        if self._guard is None:
            return
        try:
            reports = self._guard.reports()
        except GuardGone as error:
            self._lose_guard(str(error))
            return
        for report in reports:
            self._take(report, self._guard)

    def _take(self, report: Report, guard: GuardProcess) -> None:
        house = self.house
        match report:
            case Ready(left_active, lowered):
                for door in left_active:
                    house.say(f"{door} was unlocked when its guard was killed: it is locked now")
                for door in lowered:
                    house.say(f"{door} was unlocked when the daemon ended: its guard locked it")
                house.guard_up(guard.send)
                # One that was well is replaced at once should it die.
                self._said, self._try_again = "", 0.0
            case Unlocked(door):
                house.guard_says(door, unlocked=True)
            case Locked(door):
                house.guard_says(door, unlocked=False)
            case Late(door):
                house.guard_says(door, unlocked=None)
                house.say(f"{door}: an order to unlock came too late and was not obeyed")
            case Sent():
                pass
            case Fault(detail):
                self._say(detail)

    def _lose_guard(self, why: str) -> None:
        """The lines are made inactive here, and the next guard is tried at once."""
        self._say(why)
        self._end_guard(self._said or why)

    def _end_guard(self, why: str) -> None:
        # First nobody tells it anything any more: its descriptors may be others' after `close`.
        self.house.guard_down(why)
        if self._guard is not None:
            self._guard.close()
            self._guard = None
            # A guard that was killed has left them as they were, and the next one takes a moment
            # to start, or cannot.
            with suppress(GpioError, DependencyMissing):
                make_safe(self._locks, patience_seconds=0.0)

    def _say(self, what: str) -> None:
        """Once, however often it is tried again; the first reason says most."""
        if not self._said:
            self._said = what
            self.house.say(what)

    def _button(self, door: str, edge: Edge) -> None:
        if edge.active:
            self.house.button(door)

    def _contact(self, door: str, edge: Edge) -> None:
        self.house.contact(door, is_open=edge.active)


class Input:
    """A button or a contact: a line that is taken, listened to, and taken again where it fails."""

    def __init__(self, plan: DoorPlan, wire: InputWire, hear: Callable[[str, Edge], None]) -> None:
        self._door, self._wire, self._hear = plan.name, wire, hear
        self._is_contact = wire == plan.contact
        self._line: InputLine | None = None
        self._try_again = 0.0
        self._said = False

    @property
    def fd(self) -> int | None:
        return None if self._line is None else self._line.fd

    def open(self, house: House) -> None:
        """Takes the line, unless that failed a moment ago. A pressed button opens nothing."""
        if self._line is not None or time.monotonic() < self._try_again:
            return
        wire = self._wire
        try:
            chip = open_chip(wire.kind, wire.chip)
            try:
                self._line = chip.input(
                    wire.line,
                    edges=Edges.BOTH,
                    debounce=wire.debounce_seconds,
                    bias=wire.bias,
                    active_low=wire.active_low,
                )
            finally:
                chip.close()
            if self._is_contact:
                house.contact_found(self._door, is_open=self._line.level())
        except (GpioError, DependencyMissing) as error:
            self._lose()
            if not self._said:
                self._said = True
                house.say(f"{self._door}: {error}")
        else:
            self._said = False

    def hear(self) -> None:
        """Passes on what has changed."""
        if self._line is None:
            return
        try:
            edges = self._line.wait(0.0)
        except GpioError:
            self._lose()
            return
        for edge in edges:
            self._hear(self._door, edge)

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _lose(self) -> None:
        self.close()
        self._try_again = time.monotonic() + PAUSE_SECONDS


def _nothing_to_tell(order: object) -> None:
    """No door has a lock."""
