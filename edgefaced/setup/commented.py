"""A configuration as text in which every key that is set has the comment of the documented sample.

What is not set has its default and is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from edgefaced.errors import UsageError

Table = Mapping[str, Any]
"""A table of TOML, as tomllib reads it."""

FAMILIES = ("doors", "schedules", "groups")
"""Sections that hold a table for each thing; the sample explains their keys at the line's end."""

_HEADER = re.compile(r"^\[(\w+)\]$")
_KEY = re.compile(r"^# (\w+) = ")
_MEMBER = re.compile(r"^#   (\w+) = .+?(?:  +(.+))?$")
_GOES_ON = re.compile(r"^# {20,}(\S.*)$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(slots=True)
class _Section:
    """Comments of one section of the sample: lines by key; `above` speaks of the whole."""

    above: list[str] = field(default_factory=list)
    keys: dict[str, list[str]] = field(default_factory=dict)


def commented(table: Table, sample: str, head: str) -> str:
    """The text of a configuration; read again it is `table`. `head` is said at its beginning.

    Raises UsageError for a text that TOML cannot hold.
    """
    known = _sections(sample)
    blocks = ["\n".join(f"# {line}" for line in head.splitlines())]
    # The sample's order first, then what it does not know: nothing is lost.
    for name in dict.fromkeys((*known, *table)):
        if name in FAMILIES:
            blocks += _family(name, table.get(name, {}), known[name])
        elif table.get(name):
            keys = known.get(name, _Section()).keys
            blocks.append("\n".join([f"[{_key(name)}]", *_lines(table[name], keys)]))
    return "\n\n".join(blocks) + "\n"


def _family(name: str, tables: Table, comments: _Section) -> Iterator[str]:
    above = comments.above
    for member, table in tables.items():
        header = f"[{name}.{_key(member)}]"
        yield "\n".join([*above, header, *_lines(table, comments.keys)])
        above = []


def _lines(table: Table, comments: Mapping[str, list[str]]) -> Iterator[str]:
    """In the order of the sample. Keys that share a comment have it once."""
    said: list[str] = []
    for key in (*(k for k in comments if k in table), *(k for k in table if k not in comments)):
        comment = comments.get(key, [])
        if comment != said:
            yield from comment
        said = comment
        yield f"{_key(key)} = {_value(table[key])}"


def _sections(sample: str) -> dict[str, _Section]:
    found: dict[str, _Section] = {}
    section, pending, last = _Section(), list[str](), ""
    for line in sample.splitlines():
        if header := _HEADER.match(line):
            section, pending, last = found.setdefault(header[1], _Section()), [], ""
        elif not line:
            pending, last = [], ""
        elif key := _KEY.match(line):
            section.keys[last := key[1]] = pending
        elif section in (found.get(name) for name in FAMILIES):
            last = _member(section, line, last)
        else:
            # A comment after a key is the next one's.
            pending, last = [*([] if last else pending), line], ""
    return found


def _member(section: _Section, line: str, last: str) -> str:
    """Takes a line of a section that holds tables; returns the key that it speaks of."""
    if goes_on := _GOES_ON.match(line):
        section.keys[last].append(f"# {goes_on[1]}")
        return last
    if member := _MEMBER.match(line):
        section.keys[member[1]] = [f"# {member[2]}"] if member[2] else []
        return member[1]
    if not line.startswith("#   "):
        section.above.append(line)
    return last


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _string(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            inside = ", ".join(f"{_key(key)} = {_value(v)}" for key, v in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case _:
            return repr(value)


def _string(text: str) -> str:
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise UsageError(f"{text!r} is no text", "a configuration is written in UTF-8")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
