"""What an examination finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from edgefaced.errors import EdgefacedError


class Level(StrEnum):
    """A fault keeps the daemon from its work or from doing it right."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, and what mends it where it is not well."""

    area: str
    level: Level
    message: str
    hint: str = ""


def well(area: str, message: str) -> Finding:
    return Finding(area, Level.OK, message)


def warning(area: str, message: str, hint: str = "") -> Finding:
    return Finding(area, Level.WARNING, message, hint)


def fault(area: str, message: str, hint: str = "") -> Finding:
    return Finding(area, Level.FAULT, message, hint)


def failed(area: str, error: EdgefacedError, level: Level = Level.FAULT) -> Finding:
    """What an error says, as a finding."""
    return Finding(area, level, error.message, error.hint)
