"""`edgefaced access`: who may open which door, when, and whether it would open."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gallery_peer
import pytest

from edgefaced.gallery.access import access_of
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery

Run = Callable[..., tuple[int, str, str]]

CONFIG = """
[doors.front]
liveness = "not required"
[doors.lab]
chip = "pins"
wiegand_zero_line = "d0"
wiegand_one_line = "d1"
liveness = "not required"
[doors.strict]
[schedules.office]
weekly = ["mon-fri 07:00-18:00"]
[groups.staff]
doors = ["front"]
schedule = "office"
"""


@pytest.fixture
def edgefaced(edgefaced: Run, own_places: Path) -> Run:
    """Ann and Bob are enrolled, and there are three doors."""
    (own_places / "edgefaced.toml").write_text(CONFIG)
    with opened(own_places, create=True) as gallery:
        for n, name in enumerate(("Ann", "Bob")):
            gallery.enrol(name, [NewTemplate(gallery_peer.embedding(n))])
    return edgefaced


def opened(folder: Path, *, create: bool = False) -> Gallery:
    state = folder / "state"
    return Gallery.open(state / "gallery.db", state / "gallery.key", create=create)


def document(out: str) -> dict[str, Any]:
    assert out.count("\n") == 1, "one document"
    body: dict[str, Any] = json.loads(out)
    return body


def test_nobody_may_open_anything_at_first(edgefaced: Run) -> None:
    code, out, err = edgefaced("access", "list")
    assert (code, out) == (0, "")
    assert "access grant NAME --door DOOR" in err
    code, out, _ = edgefaced("access", "test", "Ann", "--door", "front")
    assert code == 1
    assert out.rstrip().endswith("not allowed")


def test_a_grant_holds_by_its_schedule_and_days(edgefaced: Run, own_places: Path) -> None:
    words = ("--schedule", "office", "--from", "2026-12-01", "--until", "2026-12-31")
    code, out, _ = edgefaced("access", "grant", "Ann", "--door", "front", *words)
    assert code == 0
    assert out == "Ann: front by office, from 2026-12-01, until 2026-12-31\n"
    cases = {
        "2026-12-01 07:30": "allowed",
        "2026-12-05 07:30": "schedule",
        "2026-11-30 07:30": "not yet valid",
        "2027-01-01 07:30": "expired",
    }
    for at, reason in cases.items():
        code, out, _ = edgefaced("access", "test", "Ann", "--door", "front", "--at", at, "--json")
        body = document(out)
        assert (body["reason"], body["granted"]) == (reason, reason == "allowed")
        assert code == (0 if body["granted"] else 1)
    assert edgefaced("access", "test", "Bob", "--door", "front")[0] == 1
    body = document(edgefaced("access", "list", "--json")[1])
    (row,) = body["access"]
    assert (row["name"], row["door"], row["schedule"], row["group"]) == (
        "Ann",
        "front",
        "office",
        None,
    )
    assert (row["from"], row["until"]) == ("2026-12-01", "2026-12-31")
    edgefaced("remove", "Ann", "--yes")
    assert document(edgefaced("access", "list", "--json")[1])["access"] == []


def test_a_second_grant_replaces_the_first_and_others_stay(
    edgefaced: Run, own_places: Path
) -> None:
    edgefaced("access", "grant", "Ann", "--door", "front", "--schedule", "office")
    edgefaced("access", "grant", "Ann", "--door", "lab")
    edgefaced("access", "grant", "Ann", "--door", "front")
    with opened(own_places) as gallery:
        person = gallery.find("Ann")
        assert person is not None
        grants = access_of(gallery, person.id).grants
    assert {(g.door, g.schedule) for g in grants} == {("front", None), ("lab", None)}
    code, out, _ = edgefaced("access", "revoke", "Ann", "--door", "lab")
    assert (code, out) == (0, "Ann: 1 taken back\n")
    code, _, err = edgefaced("access", "revoke", "Ann", "--door", "lab")
    assert (code, "no grant for lab" in err) == (1, True)
    assert edgefaced("access", "revoke", "Ann")[0] == 0
    assert edgefaced("access", "revoke", "Ann")[0] == 1


def test_groups_grant_what_the_configuration_says(edgefaced: Run) -> None:
    code, out, err = edgefaced("access", "join", "Bob", "STAFF")
    assert (code, out, err) == (0, "Bob: STAFF\n", ""), "it is the group staff, and lets him in"
    at = ("--at", "2026-12-01 07:30")
    assert edgefaced("access", "test", "Bob", "--door", "front", *at)[0] == 0
    edgefaced("access", "join", "Bob", "staff")
    assert "no [groups.cleaners]" in edgefaced("access", "join", "Bob", "cleaners")[2]
    edgefaced("access", "leave", "Bob", "cleaners")
    assert edgefaced("access", "test", "Bob", "--door", "front", *at)[0] == 0
    (row,) = document(edgefaced("access", "list", "--door", "front", "--json")[1])["access"]
    assert (row["name"], row["group"]) == ("Bob", "staff")
    assert document(edgefaced("access", "list", "--door", "lab", "--json")[1])["access"] == []
    _, out, _ = edgefaced("access", "list")
    assert "group staff" in out
    code, out, err = edgefaced("access", "join", "Bob", "Duress")
    assert (code, out, err) == (0, "Bob: Duress, staff\n", "")
    edgefaced("access", "grant", "Bob", "--door", "lab")
    _, _, err = edgefaced("access", "revoke", "Bob")
    assert "still a member of: Duress, staff" in err
    assert edgefaced("access", "leave", "Bob", "Staff")[0] == 0
    assert edgefaced("access", "leave", "Bob", "staff")[0] == 1
    assert edgefaced("access", "test", "Bob", "--door", "front", *at)[0] == 1


def test_everybody_enrolled_is_one_of_everybody(edgefaced: Run, own_places: Path) -> None:
    with (own_places / "edgefaced.toml").open("a") as file:
        file.write('[groups.Everybody]\ndoors = ["front"]\n')
    for name in ("Ann", "Bob"):
        assert edgefaced("access", "test", name, "--door", "front")[0] == 0
    listed = document(edgefaced("access", "list", "--json")[1])["access"]
    assert [(row["name"], row["group"]) for row in listed] == [
        ("Ann", "Everybody"),
        ("Bob", "Everybody"),
    ]
    code, _, err = edgefaced("access", "join", "Ann", "everybody")
    assert (code, "already" in err) == (2, True)


def test_a_door_with_a_controller_needs_a_card_number(edgefaced: Run) -> None:
    edgefaced("access", "grant", "Ann", "--door", "lab")
    _, out, _ = edgefaced("access", "test", "Ann", "--door", "lab")
    assert out.rstrip().endswith("no card number")
    assert edgefaced("access", "card", "Ann", "4711")[1] == "Ann: card number 4711\n"
    assert document(edgefaced("access", "card", "Ann", "--json")[1])["card"] == 4711
    assert edgefaced("access", "test", "Ann", "--door", "lab")[0] == 0
    assert edgefaced("access", "card", "Ann", "--none")[1] == "Ann: no card number\n"
    assert edgefaced("access", "card", "Ann", "1", "--none")[0] == 2
    assert edgefaced("access", "card", "Ann", "70000")[0] == 2


def test_a_door_that_demands_liveness_opens_for_nobody_yet(edgefaced: Run) -> None:
    edgefaced("access", "grant", "Ann", "--door", "strict")
    code, out, err = edgefaced("access", "test", "Ann", "--door", "strict")
    assert (code, out.rstrip().endswith(": liveness")) == (1, True)
    assert "no liveness check" in err


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["grant", "Ann", "--door", "garage"], 1, "no door 'garage' (there are: front, lab"),
        (["grant", "Ann", "--door", "front", "--schedule", "x"], 1, "no schedule 'x'"),
        (["grant", "Nobody", "--door", "front"], 1, "Nobody is not enrolled"),
        (["grant", "Ann", "--door", "front", "--from", "tomorrow"], 2, "--from tomorrow"),
        (
            ["grant", "Ann", "--door", "front", "--from", "2026-12-02", "--until", "2026-12-01"],
            2,
            "is before",
        ),
        (["test", "Ann", "--door", "front", "--at", "noon"], 2, "--at noon"),
        (["test", "Ann", "--door", "front", "--at", "0001-01-01"], 2, "--at 0001-01-01"),
        (["test", "Ann", "--door", "garage"], 1, "no door"),
    ],
)
def test_mistakes_are_one_line(edgefaced: Run, words: list[str], code: int, complaint: str) -> None:
    found, out, err = edgefaced("access", *words)
    assert (found, out) == (code, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_without_a_gallery_nobody_has_access(own_places: Path, edgefaced: Run) -> None:
    (own_places / "state" / "gallery.db").rename(own_places / "state" / "away")
    assert document(edgefaced("access", "list", "--json")[1])["access"] == []
