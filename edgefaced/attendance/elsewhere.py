"""Attendance of another device: the JSON lines that its `edgefaced events export` wrote.

People must have the same ids there, as after `edgefaced gallery export` and `import`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from edgefaced.core.attendance import Correction, Moment, Punch
from edgefaced.core.attendance_book import Book
from edgefaced.errors import StorageError, UsageError
from edgefaced.types import CorrectionKind, Direction

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

EARLIEST, LATEST = datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 1, 1, tzinfo=UTC)
"""In any zone the calendar goes on to either side."""

LONGEST_LINE = 1 << 20

NO_EVENT = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What reading something else ends with."""


def read_elsewhere(file: Path) -> Book:
    """Its records, with its corrections. Raises StorageError, or UsageError naming the line."""
    book = Book()
    try:
        with file.open(encoding="utf-8") as lines:
            # Not one line that never ends.
            pieces = iter(lambda: lines.readline(LONGEST_LINE), "")
            for number, line in enumerate(pieces, 1):
                try:
                    _take(book, json.loads(line))
                except NO_EVENT as error:
                    raise UsageError(
                        f"{file}: line {number} is no event of edgefaced",
                        "`edgefaced events export FILE.jsonl` on the other device writes the file",
                    ) from error
    except OSError as error:
        raise StorageError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no text") from error
    return book


def _take(book: Book, body: dict[str, Any]) -> None:
    match body["type"]:
        case "attendance":
            utc = _within(datetime.fromisoformat(body["utc"]).astimezone(UTC))
            book.take(
                Punch(
                    record_id=str(body["event_id"]),
                    person_id=str(body["id"]),
                    direction=Direction(body["direction"]),
                    moment=Moment(utc, int(body["monotonic_ns"]), str(body["boot_id"])),
                    source=str(body["source"]),
                    place=str(body["camera"]),
                    synchronised=body["clock"] != "uncertain",
                )
            )
        case "correction":
            direction, at = body["direction"], body["at"]
            book.correct(
                Correction(
                    id=str(body["event_id"]),
                    kind=CorrectionKind(body["correction"]),
                    of_record=str(body["of_record"] or ""),
                    person_id=str(body["id"]),
                    direction=None if direction is None else Direction(direction),
                    at=None if at is None else _within(EPOCH + timedelta(seconds=at)),
                    reason=str(body["reason"]),
                    by=str(body["by"]),
                )
            )


def _within(moment: datetime) -> datetime:
    if not EARLIEST <= moment <= LATEST:
        raise ValueError(f"{moment} has no local time everywhere")
    return moment
