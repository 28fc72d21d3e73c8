"""A table of people as offices keep them: which encoding, which separator, which columns.

Columns are found by their headings, in any order: name, external_id, groups, photo, consent.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import EdgefacedError, StorageError, UsageError
from edgefaced.gallery.names import (
    checked_external_id,
    checked_groups,
    checked_name,
    checked_note,
    lookup_form,
)
from edgefaced.gallery.records import Details

LARGEST_BYTES = 32 * 2**20
SEPARATORS = (",", ";", "\t")

COLUMNS = {
    "name": ("name", "full name"),
    "external_id": ("external id", "id", "employee id", "personnel number"),
    "groups": ("groups", "group"),
    "photo": ("photo", "photos", "picture", "pictures"),
    "consent": ("consent",),
}
HEADINGS = {alias: column for column, aliases in COLUMNS.items() for alias in aliases}


@dataclass(frozen=True, slots=True)
class RosterRow:
    """One person of the table, as written; `line` is where the row begins in the file."""

    line: int
    name: str
    external_id: str = ""
    groups: str = ""
    photo: str = ""
    consent: str = ""
    fault: str = ""
    """Why the row cannot be read at all; then the rest is empty."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """One person of the table, checked."""

    line: int
    name: str
    details: Details
    photos: tuple[str, ...]
    consent: str | None


@dataclass(frozen=True, slots=True)
class Roster:
    """The rows of a table and the headings that mean nothing here."""

    rows: tuple[RosterRow, ...]
    ignored: tuple[str, ...]


def read_roster(path: Path) -> Roster:
    """The table in a file. Raises StorageError, and UsageError for what is no table of people."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_BYTES:
        raise UsageError(f"{path} is larger than {LARGEST_BYTES // 2**20} MiB", "split the file")
    return parse_roster(decoded(content, str(path)), str(path))


def decoded(content: bytes, where: str) -> str:
    """UTF-8 or UTF-16 with or without their marks, else Windows-1252. Raises UsageError."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    else:
        encodings = ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise UsageError(f"{where} is no text", "save the table as CSV, in UTF-8")


def parse_roster(text: str, where: str) -> Roster:
    """The rows of a table. Raises UsageError where no separator gives a column of names."""
    separators: tuple[str, ...] = SEPARATORS
    # How spreadsheets say which separator they took.
    said = re.match(r"sep=(.)\r?\n", text, re.IGNORECASE)
    if said:
        separators = (said[1],)
    skipped = 1 if said else 0
    found = [_headings(text, separator, skipped) for separator in separators]
    best = max(found, key=lambda headings: sum(h in HEADINGS for h in headings))
    columns = [HEADINGS.get(heading, "") for heading in best]
    if "name" not in columns:
        raise UsageError(
            f"{where} has no column of names", "its first line names the columns: name, photo, …"
        )
    if twice := [c for c in COLUMNS if columns.count(c) > 1]:
        raise UsageError(f"{where} has two columns for {twice[0]}", "keep one of them")
    ignored = tuple(h for h, column in zip(best, columns, strict=True) if h and not column)
    separator = separators[found.index(best)]
    return Roster(tuple(_rows(text, separator, skipped + 1, columns)), ignored)


def checked_entrant(row: RosterRow) -> Entrant:
    """The row's person. Raises UsageError for what cannot be kept as it is written."""
    if row.fault:
        raise UsageError(row.fault)
    external_id = row.external_id.strip()
    return Entrant(
        line=row.line,
        name=checked_name(row.name),
        details=Details(
            checked_external_id(external_id) if external_id else None,
            checked_groups(_parts(row.groups, ";|,")),
        ),
        photos=_parts(row.photo, ";|"),
        consent=checked_note(row.consent) if row.consent.strip() else None,
    )


def twice_in(rows: tuple[RosterRow, ...]) -> dict[int, str]:
    """Why a row repeats an earlier one, by line: the name or the external id is the same."""
    seen: dict[tuple[str, str], int] = {}
    repeated: dict[int, str] = {}
    for row in rows:
        for what, text in (("name", row.name), ("external id", row.external_id)):
            if not text.strip():
                continue
            first = seen.setdefault((what, lookup_form(text)), row.line)
            if first != row.line:
                repeated.setdefault(row.line, f"the same {what} as in line {first}")
    return repeated


def _headings(text: str, separator: str, skipped: int) -> list[str]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for _ in range(skipped):
            next(reader)
        return [" ".join(re.split(r"[\s_-]+", h.strip().casefold())) for h in next(reader)]
    except (StopIteration, csv.Error):
        return []


def _rows(text: str, separator: str, skipped: int, columns: list[str]) -> Iterator[RosterRow]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    for _ in range(skipped):
        next(reader)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            last = reader.line_num
            swallowed = f", up to line {last}" if last > line else ""
            yield RosterRow(line, "", fault=f"not readable as CSV{swallowed}: {error}")
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if any(cell.strip() for cell in cells[len(columns) :]):
            fault = f"{len(cells)} cells for {len(columns)} columns"
            yield RosterRow(line, cells[columns.index("name")], fault=fault)
            continue
        named = {c: cell for c, cell in zip(columns, cells, strict=False) if c}
        yield RosterRow(line, **{"name": "", **named})


def _parts(text: str, separators: str) -> tuple[str, ...]:
    pieces = re.split(f"[{re.escape(separators)}]", text)
    return tuple(piece.strip() for piece in pieces if piece.strip())


def reason_of(error: EdgefacedError) -> str:
    """An error as the reason beside a row."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
