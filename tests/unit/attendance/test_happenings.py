"""Attendance as sinks show it: documents, lines, priorities and whose it is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from edgefaced.events import AttendanceCorrected, Attended, DirectionChosen, Event, Happening
from edgefaced.sinks.journal import Priority, entry
from edgefaced.sinks.shape import document, person_of
from edgefaced.sinks.words import in_words
from edgefaced.types import CorrectionKind, Direction

ANN = "6f8e3e1d-e87e-43b9-aa94-c86ae05e9ae3"
CAME = Attended(ANN, Direction.IN, "device", "the decision's id")
ADDED = AttendanceCorrected(
    CorrectionKind.ADD,
    "",
    ANN,
    Direction.OUT,
    datetime(2026, 3, 2, 17, tzinfo=UTC),
    "forgot",
    "HR",
)
VOIDED = AttendanceCorrected(CorrectionKind.VOID, "record", ANN, None, None, "a test", "HR")


@pytest.mark.parametrize(
    ("happening", "line", "priority"),
    [
        (CAME, "Ann checked in (device)", Priority.INFO),
        (ADDED, "attendance of Ann: add by HR (forgot)", Priority.NOTICE),
        (VOIDED, "attendance of Ann: void by HR (a test)", Priority.NOTICE),
        (DirectionChosen(Direction.OUT), "button: out", Priority.INFO),
    ],
)
def test_every_happening_has_a_line(happening: Happening, line: str, priority: Priority) -> None:
    event = Event(happening, "door")
    assert in_words(document(event, "Ann")) == line
    written = entry(event)
    assert written.priority is priority
    assert "Ann" not in written.message


def test_documents_hold_plain_values() -> None:
    came = document(Event(CAME, "door"))
    assert (came["type"], came["direction"], came["of_event"]) == (
        "attendance",
        "in",
        "the decision's id",
    )
    added = document(Event(ADDED, "door"))
    assert (added["of_record"], added["at"]) == (None, 1772470800.0)
    voided = document(Event(VOIDED, "door"))
    assert (voided["of_record"], voided["direction"], voided["at"]) == ("record", None, None)


def test_whose_it_is() -> None:
    assert person_of(Event(CAME, "door")) == person_of(Event(VOIDED, "door")) == ANN
    assert person_of(Event(DirectionChosen(Direction.IN), "door")) is None
