"""Corrections stand beside records; sightings meet buttons."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.attendance import (
    AttendanceRules,
    Correction,
    Mode,
    Moment,
    Punch,
    Sighting,
    WorkingDays,
)
from edgefaced.core.attendance_book import BY_HAND, Book, Register, merged
from edgefaced.types import CorrectionKind, Direction

IN, OUT = Direction.IN, Direction.OUT
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def moment(minutes: float) -> Moment:
    return Moment(NOON + timedelta(minutes=minutes), int(minutes * 60e9), "boot")


def punch(name: str, minutes: float, direction: Direction = IN, person: str = "ann") -> Punch:
    return Punch(name, person, direction, moment(minutes), "device", "door", False)


def correction(
    name: str,
    kind: CorrectionKind,
    record: str = "",
    *,
    direction: Direction | None = None,
    minutes: float | None = None,
    person: str = "ann",
) -> Correction:
    at = None if minutes is None else moment(minutes).utc
    return Correction(name, kind, record, person, direction, at, "a reason", "HR")


def book(*punches: Punch, keep: int | None = None) -> Book:
    new = Book(keep=keep)
    for each in punches:
        new.take(each)
    return new


def names(of: Book) -> list[str]:
    return [p.record_id for p in of.punches()]


def test_a_record_that_was_taken_back_counts_nowhere_and_stays_in_the_list() -> None:
    records = book(punch("a", 0), punch("b", 1, OUT))
    assert records.correct(correction("v", CorrectionKind.VOID, "b"))
    last = records.last("ann")
    assert last is not None
    assert last.record_id == "a"
    voided = records.find("b")
    assert voided is not None
    assert voided.void
    assert voided.corrections[0].reason == "a reason"
    assert names(records) == ["a", "b"]
    assert records.last("bob") is None


def test_a_record_that_was_added_goes_where_its_date_belongs() -> None:
    records = book(punch("a", 0), punch("c", 60))
    assert records.correct(correction("b", CorrectionKind.ADD, direction=OUT, minutes=30))
    assert names(records) == ["a", "b", "c"]
    added = records.find("b")
    assert added is not None
    assert (added.source, added.synchronised, added.direction) == (BY_HAND, True, OUT)
    assert records.correct(correction("v", CorrectionKind.VOID, "b"))
    newcomer = correction("n", CorrectionKind.ADD, direction=IN, minutes=5, person="bob")
    assert records.correct(newcomer)
    assert records.people() == ("ann", "bob")


def test_a_record_that_was_changed_keeps_its_id_and_moves() -> None:
    records = book(punch("a", 0), punch("b", 30), punch("c", 60))
    assert records.correct(correction("x", CorrectionKind.CHANGE, "b", direction=OUT))
    assert names(records) == ["a", "b", "c"]
    assert records.correct(correction("y", CorrectionKind.CHANGE, "b", minutes=90))
    assert names(records) == ["a", "c", "b"]
    changed = records.find("b")
    assert changed is not None
    assert (changed.direction, changed.moment.utc) == (OUT, moment(90).utc)
    assert (changed.synchronised, [c.id for c in changed.corrections]) == (True, ["x", "y"])


def test_a_correction_counts_once_and_not_without_its_record() -> None:
    records = book(punch("a", 0), punch("b", 30))
    change = correction("x", CorrectionKind.CHANGE, "b", minutes=90)
    added = correction("n", CorrectionKind.ADD, direction=IN, minutes=5)
    for _ in range(2):
        assert records.correct(change)
        assert records.correct(added)
    assert names(records) == ["a", "n", "b"]
    assert not records.correct(correction("y", CorrectionKind.VOID, "nothing"))
    assert not records.correct(correction("y", CorrectionKind.VOID, "a", person="bob"))
    assert not records.correct(correction("y", CorrectionKind.ADD))
    assert records.find("nothing") is None
    assert records.people() == ("ann",)


def test_only_the_last_ones_are_kept_where_that_is_enough() -> None:
    records = book(*(punch(str(n), n) for n in range(5)), keep=2)
    assert names(records) == ["3", "4"]
    old = correction("n", CorrectionKind.ADD, direction=IN, minutes=-5)
    assert records.correct(old)
    assert names(records) == ["3", "4"]


@given(st.permutations(range(6)), st.lists(st.integers(0, 59), min_size=6, max_size=6))
def test_what_operators_date_is_in_order_whatever_the_order_of_their_words(
    order: list[int], minutes: list[int]
) -> None:
    records = Book()
    for number in order:
        records.correct(
            correction(f"{number}", CorrectionKind.ADD, direction=IN, minutes=minutes[number])
        )
    dates = [p.moment.utc for p in records.punches("ann")]
    assert dates == sorted(dates)
    assert len(dates) == 6


def test_what_several_devices_recorded_is_one_book() -> None:
    entrance = book(punch("a", 0), punch("c", 60), punch("d", 5, person="bob"))
    leaving = book(punch("b", 30, OUT), punch("e", 90, OUT), punch("c", 60))
    together = merged([entrance, leaving])
    assert [p.record_id for p in together.punches("ann")] == ["a", "b", "c", "e"]
    assert [p.record_id for p in together.punches("bob")] == ["d"]
    assert merged([entrance]) is entrance
    assert names(merged([])) == []


def register(mode: Mode = Mode.BUTTON) -> Register:
    return Register(AttendanceRules(mode, WorkingDays(UTC), cool_down=60.0, button_seconds=10.0))


def seen(name: str, seconds: float, person: str = "ann") -> Sighting:
    return Sighting(name, person, moment(seconds / 60))


def test_without_buttons_a_sighting_is_enough() -> None:
    found = register(Mode.IN).saw(seen("e", 0))
    assert found is not None
    assert found.sighting.event_id == "e"


def test_a_button_before_or_after_the_face() -> None:
    desk = register()
    assert desk.pressed(OUT, moment(0)) is None
    first = desk.saw(seen("e", 5))
    assert first is not None
    assert (first.direction, first.sighting.event_id) == (OUT, "e")
    assert desk.saw(seen("f", 8, "bob")) is None  # the button was ann's
    assert desk.waiting == "f"
    second = desk.pressed(IN, moment(15 / 60))
    assert second is not None
    assert (second.direction, second.sighting.person_id) == (IN, "bob")
    assert desk.pressed(IN, moment(16 / 60)) is None  # bob was recorded


def test_a_button_and_a_face_too_far_apart() -> None:
    desk = register()
    assert desk.pressed(OUT, moment(0)) is None
    assert desk.saw(seen("e", 11)) is None
    assert desk.pressed(IN, moment(22 / 60)) is None
    other_boot = Sighting("f", "ann", Moment(datetime(1970, 1, 1, tzinfo=UTC), 0, "next"))
    assert desk.saw(other_boot) is None
