"""The clerk on a real ledger: one record a decision that counts, whatever dies in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from attended import at, known

from edgefaced.attendance.clerk import NAME, AttendanceClerk, clerk_plan
from edgefaced.attendance.correcting import addition, record_correction, voiding
from edgefaced.attendance.reading import read_book
from edgefaced.core.attendance import AttendanceRules, Mode, WorkingDays
from edgefaced.errors import LedgerError
from edgefaced.events import Attended, CameraChanged, DecisionMade, DirectionChosen, Event
from edgefaced.ledger.reading import Wanted, entries
from edgefaced.ledger.store import Ledger
from edgefaced.types import Decision, Direction, Liveness, Outcome

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
ANN = "6f8e3e1d-e87e-43b9-aa94-c86ae05e9ae3"
BOB = "0190b2c4-0000-7000-8000-000000000001"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path, create=True) as opened:
        yield opened


def rules(mode: Mode = Mode.ALTERNATING, cool_down: float = 300.0) -> AttendanceRules:
    return AttendanceRules(mode, WorkingDays(UTC), cool_down)


def clerk(path: Path, of: AttendanceRules, *, needs_liveness: bool = False) -> AttendanceClerk:
    return AttendanceClerk(of, lambda: Ledger.open(path), needs_liveness=needs_liveness)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def serve(ledger: Ledger, of: AttendanceClerk, *, at_most: int = 10_000) -> None:
    """As the daemon does: answer and cursor in one transaction."""
    while records := ledger.after(ledger.position_of(NAME)):
        for record in records:
            ledger.append_and_advance(of.answer(record.event), NAME, record.position)
            at_most -= 1
            if not at_most:
                return


def recorded(ledger: Ledger) -> list[tuple[str, str, str]]:
    """Person, direction and the time of day of every record."""
    found = []
    for entry in entries(ledger, Wanted(kinds=("attendance",))):
        happening = entry.record.event.happening
        assert isinstance(happening, Attended)
        time = entry.when.utc.strftime("%H:%M:%S")
        found.append((happening.person_id, happening.direction.value, time))
    return found


def test_a_decision_becomes_a_record_with_its_time_and_place(ledger: Ledger, path: Path) -> None:
    decision = known(ANN, START, "decision 1")
    ledger.append([at(CameraChanged(True, "C920"), START, "camera"), decision])
    serve(ledger, clerk(path, rules()))
    (entry,) = entries(ledger, Wanted(kinds=("attendance",)))
    event = entry.record.event
    assert event.happening == Attended(ANN, Direction.IN, "alternating", "decision 1")
    assert replace(event, happening=decision.happening, id=decision.id) == decision
    assert event.id != decision.id


def test_somebody_who_stands_there_for_a_minute_is_one_record(ledger: Ledger, path: Path) -> None:
    ledger.append([known(ANN, after(s), f"decision {s}") for s in range(61)])
    serve(ledger, clerk(path, rules()))
    assert recorded(ledger) == [(ANN, "in", "08:00:00")]


@pytest.mark.parametrize(
    "decision",
    [
        Decision(Outcome.UNKNOWN, None, 0.1, 0.3, Liveness.NOT_CHECKED, "no agreement"),
        Decision(Outcome.SPOOF, None, None, 0.3, Liveness.FAILED, "liveness"),
        Decision(Outcome.TOO_POOR, None, None, 0.3, Liveness.NOT_CHECKED, "blurred"),
        Decision(Outcome.KNOWN, ANN, 0.7, 0.3, Liveness.FAILED, "frames agree"),
        Decision(Outcome.KNOWN, None, 0.7, 0.3, Liveness.PASSED, "frames agree"),
    ],
)
def test_nobody_else_is_recorded(decision: Decision, ledger: Ledger, path: Path) -> None:
    ledger.append([at(DecisionMade(1, decision, 0, 1), START, "decision")])
    serve(ledger, clerk(path, rules()))
    assert recorded(ledger) == []


def test_liveness_can_be_required(ledger: Ledger, path: Path) -> None:
    checked = Decision(Outcome.KNOWN, BOB, 0.7, 0.3, Liveness.PASSED, "frames agree")
    ledger.append([known(ANN, START, "a"), at(DecisionMade(1, checked, 0, 1), START, "b")])
    serve(ledger, clerk(path, rules(), needs_liveness=True))
    assert [person for person, _, _ in recorded(ledger)] == [BOB]


def test_a_clerk_that_starts_anew_knows_what_the_last_one_did(ledger: Ledger, path: Path) -> None:
    minutes = [0, 1, 10, 11, 500, 1000]
    ledger.append([known(ANN, after(m * 60), f"decision {m}") for m in minutes])
    for _ in minutes:
        serve(ledger, clerk(path, rules()), at_most=1)
    serve(ledger, clerk(path, rules()))
    assert recorded(ledger) == [
        (ANN, "in", "08:00:00"),
        (ANN, "out", "08:10:00"),
        (ANN, "in", "16:20:00"),
        (ANN, "out", "00:40:00"),
    ]


def test_asked_again_it_answers_the_same(ledger: Ledger, path: Path) -> None:
    of = clerk(path, rules(cool_down=0))
    decision = known(ANN, START, "decision")
    first: Sequence[Event] = of.answer(decision)
    assert of.answer(decision) == first
    # As when the ledger took the answer and died before anybody knew: the id is the same.
    again = clerk(path, rules(cool_down=0)).answer(decision)
    assert [e.id for e in again] == [e.id for e in first]
    ledger.append(first)
    ledger.append(again)
    assert recorded(ledger) == [(ANN, "in", "08:00:00")]


def test_corrections_count_for_what_follows(ledger: Ledger, path: Path) -> None:
    of = clerk(path, rules())
    ledger.append([known(ANN, START, "decision 1")])
    serve(ledger, of)
    book = read_book(ledger)
    (punch,) = book.punches()
    record_correction(ledger, book, voiding(punch, "a test", "HR"))
    ledger.append([known(ANN, after(60), "decision 2")])
    serve(ledger, of)
    added = addition(ANN, Direction.OUT, after(3600), "forgot", "HR")
    record_correction(ledger, read_book(ledger), added)
    ledger.append([known(ANN, after(7200), "decision 3")])
    serve(ledger, of)
    assert recorded(ledger) == [
        (ANN, "in", "08:00:00"),
        (ANN, "in", "08:01:00"),
        (ANN, "in", "10:00:00"),
    ]
    # A clerk that starts behind them comes to the same.
    ledger.append([known(ANN, after(7500), "decision 4")])
    serve(ledger, clerk(path, rules()))
    assert recorded(ledger)[-1] == (ANN, "out", "10:05:00")


def press(direction: Direction, seconds: float) -> Event:
    return at(DirectionChosen(direction), after(seconds), f"button {seconds}")


@pytest.mark.parametrize("restarts", [False, True])
def test_buttons_before_and_after_the_face(ledger: Ledger, path: Path, restarts: bool) -> None:
    button = rules(Mode.BUTTON)
    ledger.append(
        [
            press(Direction.OUT, 0),
            known(ANN, after(3), "decision 1"),
            known(BOB, after(30), "decision 2"),
            press(Direction.IN, 35),
            press(Direction.IN, 60),
            known(ANN, after(100), "decision 3"),
        ]
    )
    of = clerk(path, button)
    while ledger.after(ledger.position_of(NAME)):
        of = clerk(path, button) if restarts else of
        serve(ledger, of, at_most=1)
    assert recorded(ledger) == [(ANN, "out", "08:00:03"), (BOB, "in", "08:00:30")]


def test_buttons_mean_nothing_where_they_do_not_count(ledger: Ledger, path: Path) -> None:
    ledger.append([press(Direction.OUT, 0), known(ANN, after(3), "decision 1")])
    serve(ledger, clerk(path, rules()))
    assert recorded(ledger) == [(ANN, "in", "08:00:03")]


def test_a_clerk_without_its_ledger_asks_for_another_try(tmp_path: Path) -> None:
    absent = clerk(tmp_path / "absent.db", rules())
    with pytest.raises(LedgerError):
        absent.answer(known(ANN, START, "decision"))
    plan = clerk_plan(rules(), tmp_path / "new.db", needs_liveness=False)
    opened = plan.open()
    assert len(opened.answer(known(ANN, START, "decision"))) == 1
    opened.close()
