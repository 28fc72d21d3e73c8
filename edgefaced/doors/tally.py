"""What the doors of a line have decided and done so far, counted; no person is in it."""

from __future__ import annotations

from collections import Counter

from edgefaced.core.access import Reason
from edgefaced.events import AccessDecided, DoorChanged, DoorState, Happening, RelayPulsed

ALARMS = (DoorState.FORCED, DoorState.HELD_OPEN)
STRANGERS = "strangers"
OPERATOR = "operator"
"""The reason where somebody opened a door by an order, whoever that was."""

REASONS = frozenset(reason.value for reason in Reason)


class DoorTally:
    """Counters only grow; one lock guards whoever counts, readers take copies."""

    def __init__(self) -> None:
        self.decisions: Counter[tuple[str, bool, str]] = Counter()
        """By door, whether it was granted, and why."""
        self.pulses: Counter[str] = Counter()
        self.alarms: Counter[tuple[str, str]] = Counter()
        """By door: "forced", "held-open" and "strangers"."""

    def count(self, happening: Happening) -> None:
        match happening:
            case AccessDecided(door, reason=reason) if reason == STRANGERS:
                self.alarms[door, STRANGERS] += 1
            case AccessDecided(door, granted, reason):
                self.decisions[door, granted, reason if reason in REASONS else OPERATOR] += 1
            case RelayPulsed(door):
                self.pulses[door] += 1
            case DoorChanged(door, state) if state in ALARMS:
                self.alarms[door, state.value] += 1
            case _:
                return
