"""Events for systemd's journal: entries of a line, a priority and fields.

The journal is read by people who may not know who passes the door: persons are ids here.
systemd-python writes them where it is installed; it has to be compiled, so elsewhere the journal's
protocol is spoken directly: one datagram an entry (systemd.io, "Native Journal Protocol").
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
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
from edgefaced.sinks.shape import discreet, document
from edgefaced.sinks.words import in_words
from edgefaced.types import Outcome

IDENTIFIER = "edgefaced"
JOURNAL_SOCKET = Path("/run/systemd/journal/socket")


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
    """What the journal gets of an event: no duress alarm, more people read it than root alone."""
    event = discreet(event)
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
        case DoorChanged(state=DoorState.FORCED):
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


def journal_writer(
    stream: TextIO, journal_socket: Path = JOURNAL_SOCKET
) -> Callable[[Entry], None]:
    """Entries with fields where journald listens, else lines to `stream`, which it reads."""
    if not journal_socket.is_socket():
        return lambda entry: write_line(entry, stream)
    if journal_socket == JOURNAL_SOCKET:  # the only one that systemd-python knows
        try:
            import systemd.journal as journal
        except ImportError:
            pass
        else:

            def send(entry: Entry) -> None:
                # Without a socket the library loses an entry and says nothing.
                journal_socket.stat()
                journal.send(**fields_of(entry))

            return send
    return lambda entry: write_entry(entry, journal_socket)


def fields_of(entry: Entry) -> dict[str, str]:
    """Every field of the entry, the journal's own among them."""
    return {
        "MESSAGE": entry.message,
        "PRIORITY": str(int(entry.priority)),
        "SYSLOG_IDENTIFIER": IDENTIFIER,
        **entry.fields,
    }


def write_entry(entry: Entry, journal_socket: Path) -> None:
    """The entry with all its fields. Waits while journald is behind."""
    # No value has a line break (`harmless`), so each field is a line.
    lines = "".join(f"{name}={value}\n" for name, value in fields_of(entry).items())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
        way.sendto(lines.encode(), str(journal_socket))


def write_line(entry: Entry, stream: TextIO) -> None:
    """The line with journald's prefix for its priority, sd-daemon(3)."""
    stream.write(f"<{int(entry.priority)}>{entry.message}\n")
    stream.flush()
