"""What leaves the process: events with an id, a time and what happened. No name, no vector."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from edgefaced.clock import boot_ns, is_synchronised, utc_offset_seconds
from edgefaced.types import CorrectionKind, Decision, Direction

BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """One face was judged. Times are monotonic nanoseconds."""

    track_id: int
    decision: Decision
    captured_ns: int
    decided_ns: int


@dataclass(frozen=True, slots=True)
class FaceLeft:
    """A face has left; `decision` is the last one, None where it was never judged."""

    track_id: int
    decision: Decision | None
    seconds_in_view: float


@dataclass(frozen=True, slots=True)
class PaceChanged:
    """The thermal governor took a step; `celsius` is None where a sensor cannot be read."""

    band: str
    cause: str
    celsius: float | None


@dataclass(frozen=True, slots=True)
class CameraChanged:
    """The camera came up or went away, and why."""

    up: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something an installer must know: a full disk, a slow sink, a configuration not taken."""

    where: str
    detail: str


class DoorState(StrEnum):
    """What a door came to be, or what was done to it."""

    OPENED = "opened"
    CLOSED = "closed"
    FORCED = "forced"
    """Opened with nobody let in."""
    HELD_OPEN = "held-open"
    """Left open for longer than the door's limit."""
    BUTTON = "button"
    """Opened from inside, by the exit button."""
    LOCKDOWN = "lockdown"
    HELD = "held"
    """Unlocked for a time, by an operator."""
    NORMAL = "normal"
    """Rules decide: the end of a lockdown or of a hold, and every start."""


@dataclass(frozen=True, slots=True)
class AccessDecided:
    """Whether a door was opened for somebody, and one word or two on why.

    `duress` is a silent alarm: nothing at the door differs.
    """

    door: str
    granted: bool
    reason: str
    person_id: str | None
    track_id: int | None
    duress: bool = False


@dataclass(frozen=True, slots=True)
class DoorChanged:
    """A door, its lock's mode or its exit button; `cause` in words."""

    door: str
    state: DoorState
    cause: str


@dataclass(frozen=True, slots=True)
class RelayPulsed:
    """A door was unlocked for so long at most."""

    door: str
    milliseconds: int


@dataclass(frozen=True, slots=True)
class DirectionChosen:
    """Somebody pressed the button for coming or the one for going."""

    direction: Direction


@dataclass(frozen=True, slots=True)
class Attended:
    """Somebody came or went, at the time of the decision `of_event`.

    `source` is what gave the direction: "device", "alternating", "schedule" or "button".
    """

    person_id: str
    direction: Direction
    source: str
    of_event: str


@dataclass(frozen=True, slots=True)
class AttendanceCorrected:
    """A word of the operator on attendance, beside the records: those are never edited.

    ADD is a record of its own: `of_record` is empty, `direction` and `at` (UTC) are set. VOID and
    CHANGE name the id of the event that made the record; what CHANGE leaves as it is, is None.
    """

    correction: CorrectionKind
    of_record: str
    person_id: str
    direction: Direction | None
    at: datetime | None
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class RecordsRedacted:
    """The contents of so many records were taken out of the ledger, to forget a person."""

    records: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """What another version of edgefaced has recorded: its kind, and all of it in its own form."""

    kind: str
    body: str


Happening = (
    DecisionMade
    | FaceLeft
    | PaceChanged
    | CameraChanged
    | Trouble
    | AccessDecided
    | DoorChanged
    | RelayPulsed
    | DirectionChosen
    | Attended
    | AttendanceCorrected
    | RecordsRedacted
    | Unknown
)


@dataclass(frozen=True, slots=True)
class Event:
    """A happening with an id that sorts by time and is never used twice (UUID version 7).

    `synchronised` says whether the wall clock was kept by a time source, `utc_offset_seconds` how
    far local time was ahead of UTC; both at that moment. `monotonic_ns` is the time since the boot,
    that of a suspended board included. `recorded` is False for an event that is delivered although
    the ledger could not take it (yet); it is no part of what is stored.
    """

    happening: Happening
    camera: str
    id: str = field(default_factory=lambda: str(uuid7()))
    # Asked before the date is: a clock that is set in between gives a right date that is doubted,
    # never a wrong one that is believed.
    synchronised: bool = field(default_factory=is_synchronised)
    utc: datetime = field(default_factory=lambda: datetime.now(UTC))
    monotonic_ns: int = field(default_factory=boot_ns)
    boot_id: str = field(default_factory=lambda: read_boot_id())
    utc_offset_seconds: int = field(default_factory=utc_offset_seconds)
    recorded: bool = True


def uuid7(now_ms: int | None = None, randomness: bytes | None = None) -> UUID:
    """A UUID version 7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    noise = int.from_bytes(os.urandom(10) if randomness is None else randomness, "big")
    value = (milliseconds & (1 << 48) - 1) << 80
    value |= 0x7 << 76 | (noise >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | (noise & (1 << 62) - 1)
    return UUID(int=value)


def read_boot_id(path: Path = BOOT_ID_FILE) -> str:
    """The kernel's id of this boot, with which monotonic times can be compared; "" if unknown."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
