"""What was said on the command line already, and what the configuration says: it is not asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from edgefaced.config.settings import Settings
from edgefaced.setup.answers import Mode, Part
from edgefaced.setup.asking import Asker, Choice, Question, checked
from edgefaced.setup.commented import Table

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Wishes:
    """Options of the command line; None and empty where nothing was said."""

    camera: str | None = None
    pack: str | None = None
    source: Path | None = None
    no_pull: bool = False
    accepted: tuple[str, ...] = ()
    """Packs whose licence is agreed to."""
    door: str | None = None
    chip: str | None = None
    relay: str | None = None
    relay_active_low: bool = False
    pulse: str | None = None
    members: str | None = None
    weekly: tuple[str, ...] = ()
    photographs_may_open: bool = False
    attendance: Mode | None = None
    in_until: str | None = None
    out_from: str | None = None
    button_chip: str | None = None
    in_button: str | None = None
    out_button: str | None = None
    mqtt: str | None = None
    mqtt_port: int | None = None
    mqtt_plain: bool = False
    mqtt_ca: Path | None = None
    mqtt_user: str | None = None
    mqtt_password: str | None = field(default=None, repr=False)
    webhook: str | None = field(default=None, repr=False)
    lines: Path | None = None
    without: tuple[Part, ...] = ()
    service: bool | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The configuration so far: as it is written, and as it is understood."""

    table: Table
    settings: Settings

    def says(self, section: str, key: str) -> bool:
        """Whether the key stands in the file."""
        return key in self.table.get(section, {})


def text(
    asker: Asker,
    question: Question,
    wished: str | None,
    default: str | None,
    read: Callable[[str], Answer],
) -> Answer:
    """The wish where there is one, else the answer to the question."""
    if wished is not None:
        return checked(question, wished, read)
    return asker.text(question, default, read)


def choice(
    asker: Asker,
    question: Question,
    wished: str | None,
    choices: Sequence[Choice],
    default: str | None,
    *,
    closed: bool = False,
) -> str:
    """The same for one of several; what is the default comes first where it is none of them."""
    if wished is not None:
        return wished
    names = [c.name for c in choices]
    if default is not None and default not in names:
        choices = (Choice(default, "as it is set up now"), *choices)
    return asker.choose(question, choices, default, closed=closed)
