"""Tables as CSV that a spreadsheet opens, and in which nothing can become a formula.

A spreadsheet takes a cell for a formula by its first character, and may cut cells where we did
not, at the separator of its own country. So every "=", "+", "-" or "@" with which a cell could
begin gets an apostrophe before it. Numbers are ours and stay numbers.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

Cell = str | int | float | bool | None

BYTE_ORDER_MARK = "\ufeff"
"""Tells Excel that the file is UTF-8."""

# After a separator of whatever country, with what a reader may pass over between; and in the wide
# forms that Excel takes as well.
_FORMULA = re.compile(r'(^|[,;\t|])([\s"\ufeff\u200b]*)(?=[=+\-@＝＋－＠])')
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def csv_lines(
    header: Sequence[str], rows: Iterable[Sequence[Cell]], *, separator: str = ","
) -> Iterator[str]:
    """The lines of the table with their ends, header first; texts are quoted, numbers are not.

    With ";", as countries write it whose decimal sign is a comma, numbers have one.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=separator, quoting=csv.QUOTE_NONNUMERIC)
    comma = separator == ";"
    for row in chain((header,), rows):
        writer.writerow([_written(cell, comma=comma) for cell in row])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def harmless(text: str) -> str:
    """A text as a cell: one line, and no formula."""
    return _FORMULA.sub(r"\1\2'", _CONTROL.sub(" ", text))


def _written(cell: Cell, *, comma: bool) -> str | int | float:
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "no"
        case float() if comma:
            return f"{cell}".replace(".", ",")
        case int() | float():
            return cell
        case _:
            return harmless(cell)
