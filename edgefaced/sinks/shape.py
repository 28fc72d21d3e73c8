"""An event as a JSON document, in the shape that consumers of face events already read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from edgefaced.events import (
    AccessDecided,
    AttendanceCorrected,
    Attended,
    CameraChanged,
    DecisionMade,
    DirectionChosen,
    DoorChanged,
    Event,
    FaceLeft,
    PaceChanged,
    RecordsRedacted,
    RelayPulsed,
    Trouble,
    Unknown,
)
from edgefaced.types import Decision


def document(event: Event, name: str | None = None) -> dict[str, Any]:
    """Plain JSON values. `name` is the person's, where the reader may know it."""
    body: dict[str, Any] = {
        "event_id": event.id,
        "camera": event.camera,
        "timestamp": round(event.utc.timestamp(), 3),
        "monotonic_ns": event.monotonic_ns,
        "boot_id": event.boot_id,
        "synchronised": event.synchronised,
        "utc_offset_seconds": event.utc_offset_seconds,
        "recorded": event.recorded,
    }
    match event.happening:
        case DecisionMade(track_id, decision, captured_ns, decided_ns):
            body |= {"type": "face", "track": track_id, **_decision(decision, name)}
            body["latency_ms"] = round((decided_ns - captured_ns) / 1e6, 1)
        case FaceLeft(track_id, last, seconds):
            body |= {"type": "left", "track": track_id, "seconds": round(seconds, 2)}
            if last is not None:
                body |= _decision(last, name)
        case PaceChanged(band, cause, celsius):
            body |= {"type": "pace", "band": band, "cause": cause, "celsius": celsius}
        case CameraChanged(up, detail):
            body |= {"type": "camera", "up": up, "detail": detail}
        case Trouble(where, detail):
            body |= {"type": "trouble", "where": where, "detail": detail}
        case AccessDecided(door, granted, reason, person_id, track, duress):
            body |= {"type": "access", "door": door, "granted": granted, "reason": reason}
            body |= {"id": person_id, "name": name, "track": track, "duress": duress}
        case DoorChanged(door, state, cause):
            body |= {"type": "door", "door": door, "state": state.value, "cause": cause}
        case RelayPulsed(door, milliseconds):
            body |= {"type": "pulse", "door": door, "milliseconds": milliseconds}
        case DirectionChosen(direction):
            body |= {"type": "button", "direction": direction.value}
        case Attended(person_id, direction, source, of_event):
            body |= {"type": "attendance", "direction": direction.value, "source": source}
            body |= {"id": person_id, "name": name, "of_event": of_event}
        case AttendanceCorrected(correction, of_record, person_id, new_direction, at, reason, by):
            body |= {"type": "correction", "correction": correction.value}
            body |= {"of_record": of_record or None, "id": person_id, "name": name}
            body |= {"direction": None if new_direction is None else new_direction.value}
            body |= {"at": None if at is None else round(at.timestamp(), 3)}
            body |= {"reason": reason, "by": by}
        case RecordsRedacted(records):
            body |= {"type": "redaction", "records": records}
        case Unknown(kind, _):
            body |= {"type": kind}
    return body


def discreet(event: Event) -> Event:
    """The event for those who may not know of a duress alarm: a screen at the door, say.

    Nothing shows that anything is missing.
    """
    match event.happening:
        case AccessDecided(duress=True) as decided:
            return replace(event, happening=replace(decided, duress=False))
        case _:
            return event


def person_of(event: Event) -> str | None:
    """The id of the person an event is about, if any."""
    match event.happening:
        case DecisionMade(_, decision, _, _) | FaceLeft(_, Decision() as decision, _):
            return decision.person_id
        case (
            AccessDecided(person_id=person_id)
            | Attended(person_id=person_id)
            | AttendanceCorrected(person_id=person_id)
        ):
            return person_id
        case _:
            return None


def _decision(decision: Decision, name: str | None) -> dict[str, Any]:
    return {
        "id": decision.person_id,
        "name": name,
        "outcome": decision.outcome.value,
        "score": None if decision.score is None else round(decision.score, 4),
        "threshold": round(decision.threshold, 4),
        "liveness": decision.liveness.value,
        "reason": decision.reason,
    }
