"""The clerk: reads decisions and buttons in the ledger and answers with check-ins and check-outs.

Answer and cursor are one transaction of the ledger, and the id of an answer follows from the id of
its decision: whatever dies in between, a decision leads to one record or to none, never to two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from edgefaced.attendance.records import (
    KINDS,
    attended_event,
    correction_of,
    moment_of,
    punch_of,
    sighting_of,
)
from edgefaced.core.attendance import AttendanceRules, CheckIn, Mode
from edgefaced.core.attendance_book import Register
from edgefaced.events import AttendanceCorrected, Attended, DecisionMade, DirectionChosen, Event
from edgefaced.ledger.reading import Wanted, last_entries
from edgefaced.ledger.store import Ledger
from edgefaced.protocols import ClerkPlan
from edgefaced.types import Decision, Liveness, Outcome

NAME = "attendance"
"""Of the clerk's cursor in the ledger."""

REMEMBERED_RECORDS = 10_000
"""Read at the start; more than a device makes in the two days that a record can matter."""

REMEMBERED_EVENTS = 200
"""Read at the start where buttons count: those of the last seconds are among them."""


class AttendanceClerk:
    """Knows the last records of everybody; what it needs of the past is read at the first event."""

    def __init__(
        self, rules: AttendanceRules, open_ledger: Callable[[], Ledger], *, needs_liveness: bool
    ) -> None:
        self._rules = rules
        self._open_ledger = open_ledger
        self._needs_liveness = needs_liveness
        self._register: Register | None = None
        self._decisions: dict[str, Event] = {}
        """The last one, and the one that a button is waited for."""
        self._answered = "", tuple[Event, ...]()

    def answer(self, event: Event) -> Sequence[Event]:
        """The record that follows from an event, or none. Raises LedgerError at the first one."""
        if self._register is None:
            self._register = self._remembered()
        if event.id != self._answered[0]:  # else it is asked again for what was not recorded
            self._answered = event.id, self._answer(self._register, event)
        return self._answered[1]

    def close(self) -> None:
        """Nothing is held open."""

    def _answer(self, register: Register, event: Event) -> tuple[Event, ...]:
        if isinstance(event.happening, AttendanceCorrected):
            register.book.correct(correction_of(event, event.happening))
            return ()
        check_in = self._judge(register, event)
        if check_in is None:
            return ()
        record = attended_event(self._decisions[check_in.sighting.event_id], check_in)
        if isinstance(record.happening, Attended):
            register.book.take(punch_of(record, record.happening))
        return (record,)

    def _judge(self, register: Register, event: Event) -> CheckIn | None:
        match event.happening:
            case DecisionMade(decision=Decision(person_id=str(person_id)) as decision) if (
                self._counts(decision)
            ):
                waiting = {i: d for i, d in self._decisions.items() if i == register.waiting}
                self._decisions = {**waiting, event.id: event}
                return register.saw(sighting_of(event, person_id))
            case DirectionChosen(direction) if self._rules.mode is Mode.BUTTON:
                return register.pressed(direction, moment_of(event))
        return None

    def _counts(self, decision: Decision) -> bool:
        if decision.outcome is not Outcome.KNOWN:
            return False
        return decision.liveness is Liveness.PASSED or not (
            self._needs_liveness or decision.liveness is Liveness.FAILED
        )

    def _remembered(self) -> Register:
        """What the clerk knew when it was last told of something."""
        register = Register(self._rules)
        with self._open_ledger() as ledger:
            for entry in last_entries(ledger, Wanted(kinds=KINDS), REMEMBERED_RECORDS):
                event = entry.record.event
                match event.happening:
                    case Attended() as attended:
                        register.book.take(punch_of(event, attended))
                    case AttendanceCorrected() as corrected:
                        register.book.correct(correction_of(event, corrected))
            if self._rules.mode is Mode.BUTTON:
                taken = ledger.position_of(NAME)
                seen = last_entries(ledger, Wanted(kinds=("face", "button")), REMEMBERED_EVENTS)
                for entry in seen:
                    if entry.record.position <= taken:
                        # Its record, if there was one, was read above.
                        self._judge(register, entry.record.event)
        return register


def clerk_plan(rules: AttendanceRules, events_file: Path, *, needs_liveness: bool) -> ClerkPlan:
    """A clerk for the daemon."""
    return ClerkPlan(
        lambda: AttendanceClerk(
            rules,
            lambda: Ledger.open(events_file, create=True),
            needs_liveness=needs_liveness,
        )
    )
