"""Which texts are names, and when two names are the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from edgefaced.errors import UsageError

LONGEST_NAME = 200
LONGEST_NOTE = 2000

# Controls, line and paragraph separators, lone surrogates: they break lines, tables and encodings.
_UNPRINTABLE = {"Cc", "Zl", "Zp", "Cs"}
# Overrides and isolates of the writing direction make a name look like another one.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_LIKE_AN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def checked_name(text: str) -> str:
    """The name in NFC without outer blanks, 1 to 200 characters. Raises UsageError."""
    name = unicodedata.normalize("NFC", text).strip()
    if _broken(name):
        raise UsageError("a name has no line breaks and no control characters", "one plain line")
    if not 1 <= len(name) <= LONGEST_NAME:
        raise UsageError(f"a name has 1 to {LONGEST_NAME} characters, not {len(name)}")
    if not any(unicodedata.category(c)[0] in "LNPS" for c in name):
        raise UsageError("a name needs a character that can be seen")
    if _LIKE_AN_ID.fullmatch(name):
        raise UsageError(f"{name} looks like the id of a person", "choose a name")
    return name


def checked_external_id(text: str) -> str:
    """What another system calls a person: one line of 1 to 200 characters. Raises UsageError."""
    return _line(text, "an external id")


def checked_groups(texts: Iterable[str]) -> tuple[str, ...]:
    """Names of groups, each once, in order. Raises UsageError for what is no name of a group."""
    groups = {lookup_form(group): group for group in (_line(t, "a group") for t in texts)}
    return tuple(groups[form] for form in sorted(groups))


def _line(text: str, what: str) -> str:
    line = unicodedata.normalize("NFC", text).strip()
    if _broken(line):
        raise UsageError(f"{what} has no line breaks and no control characters", "one plain line")
    if not 1 <= len(line) <= LONGEST_NAME:
        raise UsageError(f"{what} has 1 to {LONGEST_NAME} characters, not {len(line)}")
    return line


def lookup_form(text: str) -> str:
    """Two names are the same person's when these are equal: case, width and blanks aside."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def checked_note(text: str) -> str:
    """A consent note in NFC, 1 to 2000 characters; line breaks are allowed. Raises UsageError."""
    note = unicodedata.normalize("NFC", text).strip()
    if not 1 <= len(note) <= LONGEST_NOTE:
        raise UsageError(f"a consent note has 1 to {LONGEST_NOTE} characters, not {len(note)}")
    if _broken(note.replace("\n", " ").replace("\t", " ")):
        raise UsageError("a consent note has no control characters")
    return note


def _broken(text: str) -> bool:
    return bool(_DIRECTION.search(text)) or any(
        unicodedata.category(c) in _UNPRINTABLE for c in text
    )
