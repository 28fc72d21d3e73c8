"""A door's contact: opened, forced, left open, closed. No clock of its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ContactNews(StrEnum):
    """What a contact has to tell."""

    OPENED = "opened"
    FORCED = "forced"
    HELD_OPEN = "held-open"
    CLOSED = "closed"


@dataclass(slots=True)
class DoorContact:
    """Follows one door; times are monotonic seconds.

    A door that opens while it is unlocked, or up to `grace_seconds` afterwards, was opened; any
    other was forced. One that is found open at the start was left open by somebody before.
    """

    held_open_seconds: float
    grace_seconds: float = 2.0
    _open_since: float | None = None
    _unlocked_until: float = float("-inf")
    _told: bool = False

    def unlocked(self, until: float) -> None:
        """The lock is open until then."""
        self._unlocked_until = max(self._unlocked_until, until)

    def locked(self, now: float) -> None:
        """The lock was closed before its time."""
        self._unlocked_until = min(self._unlocked_until, now)

    def start(self, *, is_open: bool, now: float) -> None:
        """How the door is found, of which nothing is to be told but that it is left open."""
        self._open_since, self._told = (now if is_open else None), False

    def change(self, *, is_open: bool, now: float) -> ContactNews | None:
        """Takes a change of the contact; what there is to tell of it."""
        if is_open == (self._open_since is not None):
            return None
        self._open_since, self._told = (now if is_open else None), False
        if not is_open:
            return ContactNews.CLOSED
        in_time = now <= self._unlocked_until + self.grace_seconds
        return ContactNews.OPENED if in_time else ContactNews.FORCED

    def tick(self, now: float) -> ContactNews | None:
        """Whether the door has been open for too long; told once for each opening.

        While the lock is held open the time does not run.
        """
        if self._open_since is None or self._told:
            return None
        if now - max(self._open_since, self._unlocked_until) < self.held_open_seconds:
            return None
        self._told = True
        return ContactNews.HELD_OPEN

    @property
    def is_open(self) -> bool:
        return self._open_since is not None
