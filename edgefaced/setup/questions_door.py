"""A door: what it hangs on, who may pass, when, and what a photograph can do."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError

from edgefaced.config.doors import DoorSection, PlainName, spans
from edgefaced.core.access import EVERYBODY_GROUP
from edgefaced.errors import UsageError
from edgefaced.gpio.found import FoundChip
from edgefaced.setup.answers import ChipAnswer, DoorAnswer, chip_answer
from edgefaced.setup.asking import Asker, Choice, Question
from edgefaced.setup.here import Here
from edgefaced.setup.wishes import Standing, Wishes, choice, text

ALWAYS, SINGLY = "always", "single"

NAME = Question("What is the door called?", "small letters, for events and commands", "--door")
CHIP = Question("Which GPIO chip has the relay's pin?", "`gpiodetect` lists them", "--chip")
RELAY = Question("Which line switches the relay?", "by its name or number", "--relay")
LOW = Question(
    "Does the relay switch when its pin is LOW?",
    "some boards do; a wrong answer would hold the lock open",
    "--relay-active-low",
)
PULSE = Question("For how many seconds does the lock open?", "0.05 to 30", "--pulse")
MEMBERS = Question("Who may pass?", "a group of yours: type its name", "--for")
WEEKLY = Question(
    "When?", '"always", or for instance "mon-fri 07:00-18:00; sat 09:00-13:00"', "--when"
)
PHOTOGRAPHS = Question(
    "Shall faces open this door although a photograph could?",
    "this version has NO check that a face is alive; without a yes the door opens for no face",
    "--photographs-may-open",
)


def ask_door(asker: Asker, wishes: Wishes, standing: Standing, here: Here) -> DoorAnswer:
    """Raises UsageError."""
    doors = standing.settings.doors
    name = text(asker, NAME, wishes.door, next(iter(doors), "front"), _plain_name)
    stands = doors.get(name, DoorSection())
    chip = ask_chip(asker, CHIP, wishes.chip, _chip_of(stands), here)
    chips = [c for c in here.chips if chip.name in (c.label, str(c.path))]
    named = [n for c in chips for n in c.free() if "relay" in n.casefold()]
    likely = stands.relay_line or (named[0] if len(named) == 1 else None)
    relay = ask_line(asker, RELAY, wishes.relay, likely, chips)
    low = wishes.relay_active_low or asker.agree(LOW, default=stands.relay_active_low)
    pulse = text(asker, PULSE, wishes.pulse, f"{stands.pulse_ms / 1000:g}", _milliseconds)
    members = _members(asker, wishes, standing, name)
    weekly = _weekly(asker, wishes, standing, members)
    may_open = wishes.photographs_may_open or asker.agree(
        PHOTOGRAPHS, default=stands.liveness == "not required"
    )
    return DoorAnswer(name, chip, relay, low, pulse, members, weekly, may_open)


def ask_chip(
    asker: Asker, question: Question, wished: str | None, stands: str | None, here: Here
) -> ChipAnswer:
    """A chip of this machine, or one that is typed. Raises UsageError."""
    labels = [chip.label for chip in here.chips]
    choices = [
        Choice(
            chip.label if labels.count(chip.label) == 1 else str(chip.path),
            f"{chip.path}, {len(chip.lines)} lines",
        )
        for chip in here.chips
    ]
    # The one whose pins are on a Raspberry Pi's connector.
    header = (c.name for c in choices if c.name.startswith("pinctrl"))
    default = stands or next(header, choices[0].name if choices else None)
    return chip_answer(choice(asker, question, wished, choices, default))


def ask_line(
    asker: Asker,
    question: Question,
    wished: str | None,
    default: str | None,
    chips: Sequence[FoundChip],
) -> str:
    """A line that the chip has, where the chip is here. Raises UsageError."""
    free = [name for chip in chips for name in chip.free()]
    if free and wished is None:
        asker.say(f"Free lines: {', '.join(free)}")

    def read(line: str) -> str:
        if not line:
            raise ValueError("no line")
        for chip in chips:
            known = {found.name for found in chip.lines} | {str(f.offset) for f in chip.lines}
            if line not in known:
                raise ValueError(f"{chip.label} has no such line")
        return line

    return text(asker, question, wished, default, read)


def _chip_of(stands: DoorSection) -> str | None:
    return None if stands.chip is None else str(ChipAnswer(stands.chip_kind, stands.chip))


def _plain_name(answer: str) -> str:
    try:
        return TypeAdapter(PlainName).validate_python(answer)
    except ValidationError:
        raise ValueError("small letters, digits, - and _, at most 32") from None


def _milliseconds(answer: str) -> int:
    try:
        seconds = float(answer.replace(",", "."))
    except ValueError:
        raise ValueError("seconds are a number") from None
    if not 0.05 <= seconds <= 30:
        raise ValueError("0.05 to 30 seconds")
    return round(seconds * 1000)


def _members(asker: Asker, wishes: Wishes, standing: Standing, door: str) -> str | None:
    groups = standing.settings.groups
    having = [name for name, group in groups.items() if door in group.doors]
    if wishes.members is None and (len(having) > 1 or not asker.present):
        if asker.present:
            asker.say(f"Who may pass {door} stays as it is: {', '.join(having)}")
        return None
    choices = [
        Choice(EVERYBODY_GROUP, "everybody who is enrolled"),
        *(Choice(name, "a group") for name in groups if name != EVERYBODY_GROUP),
    ]
    if not having:
        choices.append(Choice(SINGLY, "nobody yet: single people by `edgefaced access grant`"))
    default = having[0] if having else EVERYBODY_GROUP
    answer = choice(asker, MEMBERS, wishes.members, choices, default)
    return None if answer == SINGLY else answer


def _weekly(
    asker: Asker, wishes: Wishes, standing: Standing, members: str | None
) -> tuple[str, ...]:
    wished = "; ".join(wishes.weekly) or None
    if members is None:
        if wished is not None:
            raise UsageError("--when without --for", "single people have --schedule of their own")
        return ()
    group = standing.settings.groups.get(members or "")
    schedule = standing.settings.schedules.get(group.schedule or "") if group else None
    default = "; ".join(schedule.weekly) if schedule else ALWAYS
    return text(asker, WEEKLY, wished, default, _spans)


def _spans(answer: str) -> tuple[str, ...]:
    if answer == ALWAYS:
        return ()
    parts = tuple(part.strip() for part in answer.split(";"))
    for part in parts:
        spans(part)
    return parts
