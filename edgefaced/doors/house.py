"""All doors of a daemon: what each is like now, and every way to unlock one.

One lock guards it all, and nothing is waited for under it. The doorkeeper's thread decides, the
doors' own stage talks to the guard and listens to buttons and contacts, and whoever asks at the
control socket does so in a thread of theirs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import replace
from queue import SimpleQueue

from edgefaced.clock import boot_ns, boot_seconds
from edgefaced.core.access import Circumstances, Moment, Reason, Rights, Verdict, judge
from edgefaced.core.strangers import StrangerWatch
from edgefaced.doors.book import Book
from edgefaced.doors.door import Door, DoorStatus, Tell
from edgefaced.doors.guarded import GuardGone
from edgefaced.doors.plan import DoorPlans
from edgefaced.doors.tally import DoorTally
from edgefaced.doors.trusted_camera import TrustedCamera
from edgefaced.doors.wires import Order
from edgefaced.errors import LedgerError, Refused
from edgefaced.events import (
    AccessDecided,
    DecisionMade,
    DoorChanged,
    DoorState,
    Event,
    Happening,
    RelayPulsed,
    Trouble,
)
from edgefaced.types import Outcome

PASSING = (Reason.TOO_LATE, Reason.NOT_RECORDED, Reason.UNKNOWN_RIGHTS, Reason.LOCK)
"""Reasons that may be over in a moment: whoever still stands there need not go and come back."""

LONGEST_HOLD_SECONDS = 12 * 3600.0
KEPT_EVENTS = 4096
"""So many events are known to have been here; an older one is too old anyway."""


class House:
    """Made with the settings; it does nothing before `connect`, and opens nothing before `run`."""

    def __init__(self, plans: DoorPlans, book: Book, boot_id: str) -> None:
        self.plans = plans
        self._book = book
        self._boot_id = boot_id
        # The book's: after a reload, the house of before may just be obeying an order.
        self._guarded = book.guarded
        self._doors = {plan.name: Door(plan) for plan in plans.doors}
        self._recalled = not any(plan.route for plan in plans.doors)
        self._recall_fault = ""
        self._strangers = StrangerWatch(plans.stranger_faces, plans.stranger_seconds)
        self._seen: deque[str] = deque(maxlen=KEPT_EVENTS)
        self._tell_all: Callable[[Happening], None] = _nobody_hears
        self._tally = DoorTally()
        self._trusted = TrustedCamera(book, plans.camera)
        self.again: SimpleQueue[str] = SimpleQueue()
        """Persons who are to be decided once more when they are seen next."""
        self._tell: Tell | None = None
        self._fault = "not started yet"

    def connect(
        self, announce: Callable[[Happening], None], camera: Callable[[], str | None]
    ) -> None:
        """Where happenings go, and how to ask which camera is open (its own name for itself)."""
        self._tell_all = announce
        self._trusted.connect(camera, self.say)

    def open_book(self) -> None:
        """Reads what must have survived, and says how every door begins."""
        with self._guarded:
            self._read_book()
            for name in self._doors:
                locked = self._book.page.locks_down(name)
                state = DoorState.LOCKDOWN if locked else DoorState.NORMAL
                self._announce(DoorChanged(name, state, "the daemon has started"))

    def recall_passages(self) -> None:
        """Asks the ledger, once, who is in which area: until it has answered, nobody gets in there.

        It may take its time, so it is asked before the lock.
        """
        if self._recalled:
            return
        routes = {plan.name: plan.route for plan in self.plans.doors if plan.route is not None}
        try:
            passages = self._book.passages(max(route.reset_seconds for route in routes.values()))
        except LedgerError as error:
            if not self._recall_fault:
                self.say(f"nobody knows who is inside, no door of an area opens: {error.message}")
            self._recall_fault = error.message
            return
        with self._guarded:
            self._book.passback.recall(passages, routes, boot_seconds())
            self._recalled = True

    # Deciding

    def decide(self, event: Event, rights: Callable[[str], Rights | None]) -> None:
        """Judges an event for every door of its camera, and unlocks those that are granted.

        `rights` is asked for a person once; it may take its time, so it is asked before the lock.
        """
        happening = event.happening
        if not isinstance(happening, DecisionMade):
            return
        decision = happening.decision
        person = decision.person_id if decision.outcome is Outcome.KNOWN else None
        known = None if person is None else rights(person)
        with self._guarded:
            self._read_book()  # the doors' own stage may not have come to it yet
            repeated = event.id in self._seen
            self._seen.append(event.id)
            doors = [d for d in self._doors.values() if d.plan.camera in (None, event.camera)]
            if decision.outcome is Outcome.UNKNOWN and not repeated:
                self._watch_strangers(happening, doors)
            if decision.outcome in (Outcome.UNKNOWN, Outcome.TOO_POOR):
                return  # the decision itself says so, and no door was ever in question
            same_camera = self._trusted.is_there(event.camera)
            for door in doors:
                self._ask(door, event, happening, known, same_camera, repeated=repeated)

    def _ask(
        self,
        door: Door,
        event: Event,
        happening: DecisionMade,
        rights: Rights | None,
        same_camera: bool,
        *,
        repeated: bool,
    ) -> None:
        plan, decision, now = door.plan, happening.decision, boot_seconds()
        route, passback = plan.route, self._book.passback
        person = decision.person_id or ""
        verdict = judge(
            decision,
            rights,
            plan.rule,
            self.plans.rules,
            Moment(event.utc.timestamp(), event.utc_offset_seconds, event.synchronised),
            Circumstances(
                fresh=self._is_fresh(event, happening),
                recorded=event.recorded,
                same_camera=same_camera,
                lockdown=self._book.page.locks_down(plan.name),
                repeated=repeated,
                passed_before=route is not None
                and (not self._recalled or passback.refuses(route, person, now)),
            ),
        )
        if verdict.granted:
            try:
                card = None if rights is None else rights.card
                door.unlock(self._send, plan.pulse_ms, card, person)
            except GuardGone:
                verdict = replace(verdict, granted=False, reason=Reason.LOCK)
        if verdict.granted and route is not None:
            passback.passed(route, person, now)
        self._tell_verdict(plan.name, verdict, happening)
        unsure = verdict.reason is Reason.ANTI_PASSBACK and not self._recalled
        if (verdict.reason in PASSING or unsure) and person:
            # Nothing is kept for later: fresh frames may bring a fresh decision.
            self.again.put(person)
        if verdict.granted and plan.wires.relay is not None:
            self._announce(RelayPulsed(plan.name, plan.pulse_ms))

    def _tell_verdict(self, door: str, verdict: Verdict, happening: DecisionMade) -> None:
        self._announce(
            AccessDecided(
                door,
                verdict.granted,
                verdict.reason.value,
                happening.decision.person_id,
                happening.track_id,
                verdict.duress,
            )
        )

    def _is_fresh(self, event: Event, happening: DecisionMade) -> bool:
        """Of this boot, and seen and decided just now: nothing is opened for the past."""
        limit_ns = self.plans.maximum_age_seconds * 1e9
        return (
            event.boot_id == self._boot_id != ""
            and 0 <= boot_ns() - event.monotonic_ns <= limit_ns
            # A camera's clock stands still while the board is suspended; that of events does not.
            and time.monotonic_ns() - happening.captured_ns <= limit_ns
        )

    def _watch_strangers(self, happening: DecisionMade, doors: Iterable[Door]) -> None:
        if not self._strangers.seen(happening.track_id, boot_seconds()):
            return
        faces, seconds = self.plans.stranger_faces, self.plans.stranger_seconds
        self._announce(Trouble("doors", f"{faces} unknown faces within {seconds:g} s"))
        for door in doors:
            self._announce(
                AccessDecided(door.plan.name, False, "strangers", None, happening.track_id)
            )

    def _send(self, order: Order) -> None:
        if self._tell is None:
            raise GuardGone(self._fault)
        self._tell(order)

    # What operators do

    def lockdown(self, names: Iterable[str], by: str, *, remote: bool = False) -> None:
        """Nobody is let in until `normal`, whatever happens to the power. Raises Refused.

        What a `remote` order locks down, another may end; what was locked down here, none.
        Raises StorageError where it is in force and cannot be kept.
        """
        with self._guarded:
            doors = self._named(names)
            page = self._book.page
            for door in doors:
                door.lock(self._send)
                self._announce(DoorChanged(door.plan.name, DoorState.LOCKDOWN, by))
            locked = frozenset(door.plan.name for door in doors)
            theirs = page.remote | (locked - page.lockdown) if remote else page.remote - locked
            self._book.keep(replace(page, lockdown=page.lockdown | locked, remote=theirs))

    def normal(self, names: Iterable[str], by: str, *, remote: bool = False) -> None:
        """Rules decide again: ends a lockdown and a hold. Raises Refused or StorageError.

        A `remote` order leaves alone what was locked down here.
        """
        with self._guarded:
            doors, page = self._named(names), self._book.page
            stays = [d.plan.name for d in doors if remote and page.locked_here(d.plan.name)]
            doors = [door for door in doors if door.plan.name not in stays]
            everybody = page.lockdown | (frozenset(self._doors) if page.everything else set())
            ended = frozenset(door.plan.name for door in doors)
            for door in doors:
                door.lock(self._send)
                self._announce(DoorChanged(door.plan.name, DoorState.NORMAL, by))
            if doors:
                left = replace(
                    page, lockdown=everybody - ended, everything=False, remote=page.remote - ended
                )
                self._book.keep(left)
            if stays:
                raise Refused(
                    f"{', '.join(stays)}: locked down at the device, where alone that ends",
                    "`edgefaced doors normal` there",
                )

    def hold_open(self, names: Iterable[str], seconds: float, by: str) -> None:
        """Unlocks doors for a time that a restart ends. Raises Refused."""
        with self._guarded:
            doors = self._named(names)
            for door in doors:
                self._refuse_unusable(door)
            if self._tell is None:
                raise Refused(f"the locks do not answer: {self._fault}")
            for door in doors:
                door.hold(min(max(seconds, 0.0), LONGEST_HOLD_SECONDS))
                cause = f"for {seconds:g} s, {by}"
                self._announce(DoorChanged(door.plan.name, DoorState.HELD, cause))
            self.tick()

    def open(self, names: Iterable[str], by: str) -> None:
        """One pulse for each, as for somebody who is let in. Raises Refused."""
        with self._guarded:
            doors = self._named(names)
            for door in doors:
                self._refuse_unusable(door)
            for door in doors:
                self._pulse(door)
                self._announce(AccessDecided(door.plan.name, True, by, None, None))

    def trust_camera(self, by: str) -> None:
        """Takes the camera that is there now for the right one. Raises Refused or StorageError."""
        with self._guarded:
            self._read_book()
            self._trusted.trust(by)

    def _pulse(self, door: Door) -> None:
        try:
            door.unlock(self._send, door.plan.pulse_ms, None)
        except GuardGone as error:
            raise Refused(f"the lock of {door.plan.name} does not answer: {error}") from error
        if door.plan.wires.relay is not None:
            self._announce(RelayPulsed(door.plan.name, door.plan.pulse_ms))

    def _refuse_unusable(self, door: Door) -> None:
        name = door.plan.name
        if door.plan.wires.relay is None:
            raise Refused(f"{name} has no relay", "its controller can do that")
        if self._book.page.locks_down(name):
            raise Refused(f"{name} is locked down", f"`edgefaced doors normal {name}` first")

    def _named(self, names: Iterable[str]) -> list[Door]:
        """Those doors, or all of them for no name; an order may come before the first round."""
        self._read_book()
        wanted = list(dict.fromkeys(names)) or list(self._doors)
        for name in wanted:
            if name not in self._doors:
                known = ", ".join(self._doors) or "none is configured"
                raise Refused(f"no door {name!r}", f"there are: {known}")
        return [self._doors[name] for name in wanted]

    def _read_book(self) -> None:
        fault = self._book.open()
        if fault is not None:
            self.say(fault)

    # What the doors' own stage does

    def guard_up(self, tell: Tell) -> None:
        """A guard holds all lines, inactive."""
        with self._guarded:
            self._tell, self._fault = tell, ""

    def guard_down(self, why: str) -> None:
        """There is no guard, and no order goes to the old one any more."""
        with self._guarded:
            self._tell, self._fault = None, why
            for door in self._doors.values():
                door.lost_guard()

    def guard_says(self, name: str, *, unlocked: bool | None) -> None:
        """What a door's relay is now; None where an order came too late to change anything."""
        with self._guarded:
            door = self._doors[name]
            door.guard_says(unlocked=unlocked)
            if unlocked is None and door.unlocked_for and door.plan.route is None:
                # Let in, and still outside. Of an area's door they are inside already, by the book.
                self.again.put(door.unlocked_for)

    def overdue(self, grace_seconds: float) -> str | None:
        """A door that its guard should have locked, or unlocked, by now."""
        with self._guarded:
            late = (n for n, door in self._doors.items() if door.is_overdue(grace_seconds))
            return next(late, None)

    def tick(self) -> None:
        """Renews what is held open, and tells what has been open for too long."""
        with self._guarded:
            for name, door in self._doors.items():
                if not self._book.page.locks_down(name):
                    self._tell_news(door.renew(self._send))
                self._tell_news(door.look())

    def button(self, name: str) -> None:
        """Somebody inside wants to go."""
        with self._guarded:
            self._announce(DoorChanged(name, DoorState.BUTTON, "the exit button"))
            try:
                self._pulse(self._doors[name])
            except Refused as error:
                self._announce(Trouble(f"door {name}", error.message))

    def contact_found(self, name: str, *, is_open: bool) -> None:
        """How a contact is when somebody begins to listen to it."""
        with self._guarded:
            self._doors[name].contact_found(is_open=is_open)

    def contact(self, name: str, *, is_open: bool) -> None:
        """A door was opened or closed."""
        with self._guarded:
            self._tell_news(self._doors[name].contact_changed(is_open=is_open))

    def say(self, detail: str) -> None:
        """What an installer must know."""
        self._announce(Trouble("doors", detail))

    def _tell_news(self, news: DoorChanged | None) -> None:
        if news is not None:
            self._announce(news)

    def _announce(self, happening: Happening) -> None:
        self._tally.count(happening)
        self._tell_all(happening)

    def tally(self) -> DoorTally:
        """A copy of what has been counted."""
        with self._guarded:
            return deepcopy(self._tally)

    def statuses(self) -> tuple[DoorStatus, ...]:
        """Every door as it is now."""
        with self._guarded:
            locks_down = self._book.page.locks_down
            return tuple(
                door.status(lockdown=locks_down(name), fault=self._fault)
                for name, door in self._doors.items()
            )


def _nobody_hears(happening: Happening) -> None:
    """Before the house is connected."""
