"""One of everything that can happen, with the texts that people and cameras really send."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from edgefaced.events import (
    AccessDecided,
    AttendanceCorrected,
    Attended,
    CameraChanged,
    DecisionMade,
    DirectionChosen,
    DoorChanged,
    DoorState,
    Event,
    FaceLeft,
    Happening,
    PaceChanged,
    RecordsRedacted,
    RelayPulsed,
    Trouble,
    Unknown,
)
from edgefaced.types import CorrectionKind, Decision, Direction, Liveness, Outcome

ANN = "0190b2c4-0000-7000-8000-000000000001"
ANNS_NAME = "Ann a/b#+ \N{SNOWMAN} Ä"
NASTY = "a/b#+ $(id) 'x' \"y\" \n\t\x00\x1b[31m \N{SNOWMAN} \udcff " + "ü" * 300
KNOWN = Decision(Outcome.KNOWN, ANN, 0.71, 0.35, Liveness.NOT_CHECKED, "match")
BROKEN = Decision(
    Outcome.UNKNOWN, None, float("nan"), float("inf"), Liveness.FAILED, "below threshold"
)

HAPPENINGS: tuple[Happening, ...] = (
    DecisionMade(7, KNOWN, 1_000_000, 51_000_000),
    DecisionMade(8, BROKEN, 0, 1),
    FaceLeft(7, KNOWN, 2.5),
    FaceLeft(9, None, 0.4),
    PaceChanged("warm", "heat", 71.0),
    PaceChanged("rest", NASTY, None),
    CameraChanged(True, "C920"),
    CameraChanged(False, NASTY),
    Trouble("disk", NASTY),
    AccessDecided("front", True, "match", ANN, 7, duress=True),
    AccessDecided(NASTY, False, "nobody's", None, None),
    DoorChanged("front", DoorState.HELD_OPEN, NASTY),
    RelayPulsed("front", 3000),
    DirectionChosen(Direction.IN),
    Attended(ANN, Direction.OUT, "button", "0190b2c4-0000-7000-8000-000000000002"),
    AttendanceCorrected(
        CorrectionKind.ADD, "", ANN, Direction.IN, datetime(2026, 3, 1, tzinfo=UTC), NASTY, "root"
    ),
    RecordsRedacted(3),
    Unknown(NASTY, "{}"),
)


def events() -> Iterator[Event]:
    """One event of each."""
    for happening in HAPPENINGS:
        yield Event(happening, NASTY)


def decisions(count: int) -> list[Event]:
    """So many different events of a usual kind."""
    return [Event(DecisionMade(number, KNOWN, 0, 1), "door") for number in range(count)]
