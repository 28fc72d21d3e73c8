"""The section [attendance]: what fits together and what does not."""

from __future__ import annotations

from datetime import UTC, time

import pytest
from pydantic import ValidationError

from edgefaced.config.attendance import AttendanceSection
from edgefaced.core.attendance import Mode
from edgefaced.types import Direction


def test_the_rules_are_the_sections() -> None:
    section = AttendanceSection(
        mode="schedule",
        cool_down_seconds=60,
        day_begins="05:30",
        longest_night_shift_hours=10,
        in_until="11:00",
        out_from="02:00",
        button_seconds=5,
    )
    rules = section.rules(UTC)
    assert (rules.mode, rules.cool_down, rules.button_seconds) == (Mode.SCHEDULE, 60, 5)
    assert (rules.in_until, rules.out_from) == (time(11), time(2))
    assert (rules.days.begin, rules.days.longest_night_shift) == (time(5, 30), 36_000)
    assert rules.days.zone is UTC


@pytest.mark.parametrize(
    "keys",
    [
        {"mode": "guess"},
        {"day_begins": "24:00"},
        {"day_begins": "4:00"},
        {"cool_down_seconds": -1},
        {"longest_night_shift_hours": 25},
        {"in_until": "15:00", "out_from": "11:00"},
        {"in_until": "03:00", "out_from": "15:00"},  # three o'clock ends the working day
        {"in_button_line": "a", "out_button_line": "b"},
        {"button_chip": "x", "in_button_line": "a"},
        {"button_chip": "x", "in_button_line": "a", "out_button_line": "a"},
    ],
    ids=str,
)
def test_what_does_not_fit(keys: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        AttendanceSection.model_validate(keys)


def test_lines_of_buttons() -> None:
    assert AttendanceSection().button_lines() == {}
    wired = AttendanceSection(button_chip="x", in_button_line="a", out_button_line="b")
    assert wired.button_lines() == {Direction.IN: "a", Direction.OUT: "b"}
