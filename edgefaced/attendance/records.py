"""Events as the core's values, and the other way round."""

from __future__ import annotations

from uuid import UUID, uuid5

from edgefaced.core.attendance import CheckIn, Correction, Moment, Punch, Sighting
from edgefaced.core.clocks import Dated
from edgefaced.events import AttendanceCorrected, Attended, Event

KINDS = ("attendance", "correction")
"""What attendance is made of in the ledger."""

NAMESPACE = UUID("9d4f3c1e-52f1-4c7b-8a55-6a0c0f6f2d11")


def sighting_of(event: Event, person_id: str) -> Sighting:
    """A person who was recognised, at the moment of the decision."""
    return Sighting(event.id, person_id, moment_of(event))


def moment_of(event: Event) -> Moment:
    return Moment(event.utc, event.monotonic_ns, event.boot_id)


def record_id(of_event: str) -> str:
    """The id of the record that a decision leads to: the same one however often it is made."""
    return str(uuid5(NAMESPACE, of_event))


def attended_event(decision: Event, check_in: CheckIn) -> Event:
    """The event to record: its time is the decision's, not that of the recording."""
    sighting = check_in.sighting
    return Event(
        Attended(sighting.person_id, check_in.direction, check_in.source, sighting.event_id),
        decision.camera,
        id=record_id(sighting.event_id),
        utc=decision.utc,
        monotonic_ns=decision.monotonic_ns,
        boot_id=decision.boot_id,
        synchronised=decision.synchronised,
        utc_offset_seconds=decision.utc_offset_seconds,
    )


def punch_of(event: Event, attended: Attended, when: Dated | None = None) -> Punch:
    """The record of an event, with the best that is known of its time."""
    utc = event.utc if when is None else when.utc
    return Punch(
        record_id=event.id,
        person_id=attended.person_id,
        direction=attended.direction,
        moment=Moment(utc, event.monotonic_ns, event.boot_id),
        source=attended.source,
        place=event.camera,
        synchronised=event.synchronised if when is None else when.certain,
    )


def correction_of(event: Event, corrected: AttendanceCorrected) -> Correction:
    return Correction(
        id=event.id,
        kind=corrected.correction,
        of_record=corrected.of_record,
        person_id=corrected.person_id,
        direction=corrected.direction,
        at=corrected.at,
        reason=corrected.reason,
        by=corrected.by,
    )
