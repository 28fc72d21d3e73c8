"""One door's lock and contact as they are now; used under the lock of the house it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edgefaced.clock import boot_ns, boot_seconds
from edgefaced.core.contact import ContactNews, DoorContact
from edgefaced.core.wiegand import frame
from edgefaced.doors.guarded import GuardGone
from edgefaced.doors.plan import DoorPlan
from edgefaced.doors.wires import Frame, Lock, Order, Pulse
from edgefaced.events import DoorChanged, DoorState

LEASE_MS = 3000
"""A door that is held open is unlocked for so long at a time: a daemon that hangs locks it."""

Tell = Callable[[Order], None]
"""Tells the guard; raises GuardGone."""


@dataclass(frozen=True, slots=True)
class DoorStatus:
    """One door as it is now; `held_seconds` is how long it will still be held open."""

    name: str
    lockdown: bool
    held_seconds: float | None
    unlocked: bool
    is_open: bool | None
    lock: str
    """"ready", "none", or what is wrong with it."""


class Door:
    """What changes about one door."""

    def __init__(self, plan: DoorPlan) -> None:
        self.plan = plan
        self._contact = DoorContact(plan.held_open_seconds)
        self._listens = False
        self._held_until: float | None = None
        self._unlocked = False
        """What the guard said last."""
        self._unlocked_until = float("-inf")
        """By when it must have said that the relay is inactive again."""
        self.unlocked_for = ""
        """Who it was told to unlock for last; empty for nobody in particular."""
        self._asked_at: float | None = None
        """When it was told to unlock, and has not answered yet."""

    def unlock(self, tell: Tell, milliseconds: int, card: int | None, person_id: str = "") -> None:
        """A pulse, and a card number where the door's controller wants one. Raises GuardGone.

        A door without a lock has nothing to be told.
        """
        plan, now = self.plan, boot_seconds()
        at_ns = boot_ns()
        self.unlocked_for = person_id
        if plan.wires.relay is not None:
            tell(Pulse(plan.name, milliseconds, at_ns))
            self._unlocked_until = max(self._unlocked_until, now + milliseconds / 1000)
            if not self._unlocked and self._asked_at is None:
                self._asked_at = now
        if plan.wiegand is not None and card is not None:
            bits = frame(plan.wiegand.bits, plan.wiegand.facility, card)
            tell(Frame(plan.name, "".join("01"[bit] for bit in bits), at_ns))
        self._contact.unlocked(now + milliseconds / 1000)

    def lock(self, tell: Tell) -> None:
        """At once. A guard that cannot be told is overdue from now on."""
        now = boot_seconds()
        self._held_until = None
        self._contact.locked(now)
        self._unlocked_until = min(self._unlocked_until, now)
        if self.plan.wires.relay is not None:
            try:
                tell(Lock(self.plan.name))
            except GuardGone:
                return

    def hold(self, seconds: float) -> None:
        """Held open from now on, by one `renew` after another."""
        self._held_until = boot_seconds() + seconds

    def renew(self, tell: Tell) -> DoorChanged | None:
        """Unlocked for another while, or what to tell when the time is over."""
        if self._held_until is None:
            return None
        left_ms = int((self._held_until - boot_seconds()) * 1000)
        if left_ms <= 0:
            self._held_until = None
            return DoorChanged(self.plan.name, DoorState.NORMAL, "held open for its time")
        try:
            self.unlock(tell, min(left_ms, LEASE_MS), None)
        except GuardGone:
            return None  # the next round finds another guard
        return None

    def guard_says(self, *, unlocked: bool | None) -> None:
        """The relay is active, or inactive; None: an order came too late, and it is as before."""
        self._asked_at = None
        if unlocked is not None:
            self._unlocked = unlocked

    def lost_guard(self) -> None:
        """Nobody holds the line; the next guard finds it inactive or makes it so."""
        self._unlocked, self._asked_at = False, None
        self._unlocked_until = float("-inf")
        self._contact.locked(boot_seconds())

    def is_overdue(self, grace_seconds: float) -> bool:
        """Whether its guard should have locked it, or answered, by now."""
        late = boot_seconds() - grace_seconds
        silent = self._asked_at is not None and self._asked_at < late
        return silent or (self._unlocked and self._unlocked_until < late)

    def contact_found(self, *, is_open: bool) -> None:
        """How the contact is when somebody begins to listen to it."""
        self._listens = True
        self._contact.start(is_open=is_open, now=boot_seconds())

    def contact_changed(self, *, is_open: bool) -> DoorChanged | None:
        """The door was opened or closed."""
        return self._news(self._contact.change(is_open=is_open, now=boot_seconds()))

    def look(self) -> DoorChanged | None:
        """Whether it has been open for too long."""
        return self._news(self._contact.tick(boot_seconds())) if self._listens else None

    def _news(self, news: ContactNews | None) -> DoorChanged | None:
        if news is None:
            return None
        return DoorChanged(self.plan.name, DoorState(news.value), "the door's contact")

    def status(self, *, lockdown: bool, fault: str) -> DoorStatus:
        """`fault` is what is wrong with the guard, if anything is."""
        held = self._held_until
        return DoorStatus(
            name=self.plan.name,
            lockdown=lockdown,
            held_seconds=None if held is None else max(held - boot_seconds(), 0.0),
            unlocked=self._unlocked,
            is_open=self._contact.is_open if self._listens else None,
            lock=(fault or "ready") if self.plan.wires.outputs else "none",
        )
