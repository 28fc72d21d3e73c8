"""Events for systemd's journal: a line with a priority and, with systemd-python, fields.

The journal is read by people who may not know who passes the door: persons are ids here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TextIO

from edgefaced.events import (
    AccessDecided,
    AttendanceCorrected,
    CameraChanged,
    DecisionMade,
    DoorChanged,
    DoorState,
    Event,
    PaceChanged,
    Trouble,
)
from edgefaced.sinks.shape import document
from edgefaced.sinks.words import in_words
from edgefaced.types import Outcome

IDENTIFIER = "edgefaced"


class Priority(IntEnum):
    """syslog(3)'s levels, those used here."""

    ERROR = 3
    WARNING = 4
    NOTICE = 5
    INFO = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the journal; `fields` are its own ones, EDGEFACED_TYPE and so on."""

    message: str
    priority: Priority
    fields: dict[str, str]


def entry(event: Event) -> Entry:
    """What the journal gets of an event."""
    body = document(event)
    fields = {
        "EDGEFACED_PERSON" if key == "id" else f"EDGEFACED_{key.upper()}": harmless(str(value))
        for key, value in body.items()
        if value is not None
    }
    return Entry(harmless(in_words(body)), priority_of(event), fields)


def priority_of(event: Event) -> Priority:
    """Errors blind the door, warnings want somebody to look, notices are worth knowing."""
    match event.happening:
        case CameraChanged(up=False):
            return Priority.ERROR
        case DoorChanged(state=DoorState.FORCED) | AccessDecided(duress=True):
            return Priority.ERROR
        case DoorChanged(state=DoorState.HELD_OPEN | DoorState.LOCKDOWN | DoorState.HELD):
            return Priority.WARNING
        case Trouble() | PaceChanged(celsius=None):
            return Priority.WARNING
        case DecisionMade(decision=decision) if decision.outcome is Outcome.SPOOF:
            return Priority.WARNING
        case CameraChanged() | PaceChanged() | AccessDecided() | DoorChanged():
            return Priority.NOTICE
        case AttendanceCorrected():
            return Priority.NOTICE
        case _:
            return Priority.INFO


def harmless(text: str) -> str:
    """One line without control characters: an entry cannot pretend to be two."""
    return "".join(c if c.isprintable() else "�" for c in text)


class JournalSink:
    """Writes every event as one entry."""

    def __init__(self, write: Callable[[Entry], None]) -> None:
        self._write = write

    def emit(self, event: Event) -> None:
        """Raises OSError where the journal cannot be written."""
        self._write(entry(event))

    def close(self) -> None:
        """Nothing to release."""


def journal_writer(stream: TextIO) -> Callable[[Entry], None]:
    """Fields by systemd-python where it is installed, else lines to `stream` for journald."""
    try:
        import systemd.journal as journal
    except ImportError:
        return lambda entry: write_line(entry, stream)

    def write(entry: Entry) -> None:
        journal.send(
            entry.message,
            PRIORITY=str(int(entry.priority)),
            SYSLOG_IDENTIFIER=IDENTIFIER,
            **entry.fields,
        )

    return write


def write_line(entry: Entry, stream: TextIO) -> None:
    """The line with journald's prefix for its priority, sd-daemon(3)."""
    stream.write(f"<{int(entry.priority)}>{entry.message}\n")
    stream.flush()
