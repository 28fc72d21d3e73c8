"""Which texts are names."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.errors import UsageError
from edgefaced.gallery.names import checked_name, checked_note, lookup_form

GOOD = [
    "Ann",
    "../../x",
    "--json",
    "-rf /",
    'O\'Brien "the" `x` $(id)',
    "a/b#+",
    "Zoë",
    "👩‍👩‍👧",
    "שלום עולם",
    "علی‌رضا",
    "王小明",
    "x" * 200,
    "'; DROP TABLE people; --",
    "[red]name[/red]",
    "%s %n {0}",
    "0",
]

BAD = [
    "",
    "   ",
    "a\nb",
    "a\rb",
    "a\tb",
    "a\x00b",
    "\x1b[31mred",
    "a\u2028b",
    "a\u2029b",
    "x" * 201,
    "😀" * 201,
    "\u200b",
    "\u202eevil",
    "a\u2066b",
    "\udcff",
    "6f8e3e1d-e87e-43b9-aa94-c86ae05e9ae3",
    "6F8E3E1D-E87E-43B9-AA94-C86AE05E9AE3",
]


@pytest.mark.parametrize("name", GOOD)
def test_names_are_data(name: str) -> None:
    assert checked_name(f"  {name} ") == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_what_is_no_name_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_name(name)
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("Ann", "ANN"),
        ("Ann", "  ann "),
        ("Ann  Smith", "ann smith"),
        ("Zoe\u0308", "ZOË"),
        ("ＡＮＮ", "ann"),
        ("Straße", "STRASSE"),
        ("ﬁona", "Fiona"),
    ],
)
def test_names_that_are_the_same(one: str, same: str) -> None:
    assert lookup_form(one) == lookup_form(same)


@pytest.mark.parametrize(("one", "another"), [("Ann", "Anna"), ("Zoe", "Zoë"), ("a b", "ab")])
def test_names_that_differ(one: str, another: str) -> None:
    assert lookup_form(one) != lookup_form(another)


@given(st.text(max_size=300))
def test_a_text_is_a_stable_name_or_refused(text: str) -> None:
    try:
        name = checked_name(text)
    except UsageError:
        return
    assert checked_name(name) == name
    assert 1 <= len(name) <= 200
    assert len(name.splitlines()) == 1
    assert lookup_form(lookup_form(name)) == lookup_form(name)
    name.encode()


@pytest.mark.parametrize("note", ["signed", "line one\nline two", "x" * 2000])
def test_consent_notes(note: str) -> None:
    assert checked_note(f" {note}\n") == note


@pytest.mark.parametrize("note", ["", " \n", "x" * 2001, "a\x00b", "a\x1bb"])
def test_what_is_no_consent_note(note: str) -> None:
    with pytest.raises(UsageError):
        checked_note(note)
