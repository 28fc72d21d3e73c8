"""Attendance: what gives the direction."""

from __future__ import annotations

import re

from edgefaced.setup.answers import AttendanceAnswer, ChipAnswer, Mode
from edgefaced.setup.asking import Asker, Choice, Question
from edgefaced.setup.here import Here
from edgefaced.setup.questions_door import ask_chip, ask_line
from edgefaced.setup.wishes import Standing, Wishes, choice, text

MODE = Question("Who comes and who goes?", "what tells the direction", "--attendance")
UNTIL = Question("Until when in the day does everybody come?", "hh:mm", "--in-until")
FROM = Question("From when on does everybody go?", "hh:mm", "--out-from")
WIRED = Question(
    "Are there two buttons at GPIO lines?",
    "without them `edgefaced attendance press` is the button",
    "--button-chip",
)
CHIP = Question("Which GPIO chip has the buttons?", "`gpiodetect` lists them", "--button-chip")
IN_LINE = Question("Which line is the button for coming?", "name or number", "--in-button")
OUT_LINE = Question("Which line is the button for going?", "name or number", "--out-button")

_WORDS: dict[Mode, str] = {
    "alternating": "out follows in",
    "in": "this device stands at an entrance",
    "out": "this device stands at an exit",
    "schedule": "the time of day",
    "button": "somebody presses a button",
}


def ask_attendance(
    asker: Asker, wishes: Wishes, standing: Standing, here: Here
) -> AttendanceAnswer:
    """Raises UsageError."""
    section = standing.settings.attendance
    choices = [Choice(mode, words) for mode, words in _WORDS.items()]
    name = choice(asker, MODE, wishes.attendance, choices, section.mode, closed=True)
    mode = next(mode for mode in _WORDS if mode == name)
    if mode == "schedule":
        until = text(asker, UNTIL, wishes.in_until, section.in_until, _wall_time)
        start = text(asker, FROM, wishes.out_from, section.out_from, _wall_time)
        return AttendanceAnswer(mode, until, start)
    wired = section.button_chip is not None
    if mode == "button" and (wishes.button_chip is not None or asker.agree(WIRED, default=wired)):
        stands = (
            None
            if section.button_chip is None
            else str(ChipAnswer(section.button_chip_kind, section.button_chip))
        )
        chip = ask_chip(asker, CHIP, wishes.button_chip, stands, here)
        chips = [c for c in here.chips if chip.name in (c.label, str(c.path))]
        lines = (
            ask_line(asker, IN_LINE, wishes.in_button, section.in_button_line, chips),
            ask_line(asker, OUT_LINE, wishes.out_button, section.out_button_line, chips),
        )
        return AttendanceAnswer(mode, None, None, chip, *lines)
    return AttendanceAnswer(mode)


def _wall_time(answer: str) -> str:
    if not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", answer):
        raise ValueError('hours and minutes: "07:30"')
    return answer
