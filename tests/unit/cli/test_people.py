"""`list`, `show`, `rename`, `remove`."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gallery_peer
import pytest

from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery

Run = Callable[..., tuple[int, str, str]]
ODD = ["--json", "../../x", "a/b#+", 'O\'Brien "q"', "[red]x[/red]", "שלום", "👩‍👩‍👧", "%s{0}\\n"]


def enrolled(folder: Path, *names: str, consent: str | None = None) -> None:
    state = folder / "state"
    with Gallery.open(state / "gallery.db", state / "gallery.key", create=True) as gallery:
        for n, name in enumerate(names):
            gallery.enrol(name, [NewTemplate(gallery_peer.embedding(n))], consent=consent)


def names_in(folder: Path) -> list[str]:
    with Gallery.open(folder / "state" / "gallery.db", folder / "state" / "gallery.key") as gallery:
        return [person.name for person in gallery.people()]


def document(out: str) -> Any:
    assert out.count("\n") == 1, "one document"
    return json.loads(out)


def test_nobody_is_enrolled(edgefaced: Run, own_places: Path) -> None:
    assert edgefaced("list") == (
        0,
        "",
        "nobody is enrolled; `edgefaced enroll NAME PICTURES` is the start\n",
    )
    code, out, _ = edgefaced("list", "--json")
    assert (code, document(out)["people"]) == (0, [])
    for command in (["show", "Ann"], ["rename", "Ann", "Bob"], ["remove", "Ann", "--yes"]):
        code, out, err = edgefaced(*command)
        assert (code, out) == (1, "")
        assert "Ann is not enrolled" in err
    assert edgefaced("remove", "--all", "--yes")[0] == 0
    assert not (own_places / "state").exists(), "looking starts no gallery"


def test_list_is_a_table(edgefaced: Run, own_places: Path) -> None:
    enrolled(own_places, "Bob", "ann", consent="signed\nform 12")
    code, out, err = edgefaced("list")
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 3)
    assert lines[0].split() == ["name", "templates", "model", "enrolled", "consent"]
    assert lines[1].startswith("ann ")
    assert lines[2].split()[:3] == ["Bob", "1", "sface"]
    assert "signed …" in lines[2]


def test_list_as_json(edgefaced: Run, own_places: Path) -> None:
    enrolled(own_places, "Ann", consent="signed")
    code, out, _ = edgefaced("list", "--json")
    (person,) = document(out)["people"]
    assert code == 0
    assert (person["name"], person["templates"], person["model_ids"]) == ("Ann", 1, ["sface"])
    assert person["consent"]["note"] == "signed"
    assert person["enrolled_at"].endswith("+00:00")


def test_show_by_name_and_id(edgefaced: Run, own_places: Path) -> None:
    enrolled(own_places, "Ann Smith", consent="signed\nform 12")
    code, out, _ = edgefaced("show", "ANN SMITH", "--json")
    person = document(out)["person"]
    assert (code, person["name"]) == (0, "Ann Smith")
    code, out, _ = edgefaced("show", person["id"])
    assert code == 0
    assert "name: Ann Smith\n" in out
    assert "consent: signed / form 12\n" in out
    enrolled(own_places, "Bob")
    assert "consent: -\n" in edgefaced("show", "Bob")[1]


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("ann", "near it: Ann Smith"), ("Robrt", "near it: Robert"), ("zzz", "`edgefaced list`")],
)
def test_a_name_nobody_has(edgefaced: Run, own_places: Path, asked: str, hint: str) -> None:
    enrolled(own_places, "Ann Smith", "Robert")
    for command in (["show", asked], ["rename", asked, "X"], ["remove", asked, "--yes"]):
        code, out, err = edgefaced(*command)
        assert (code, out) == (1, "")
        assert f"{asked} is not enrolled" in err
        assert hint in err
        assert err.count("\n") == 1
    code, out, _ = edgefaced("show", asked, "--json")
    assert (code, document(out)["error"]["code"]) == (1, "refused")


def test_rename(edgefaced: Run, own_places: Path) -> None:
    enrolled(own_places, "Ann", "Bob")
    assert edgefaced("rename", "ann", "Anna") == (0, "ann is now Anna\n", "")
    code, out, _ = edgefaced("rename", "Anna", "Annie", "--json")
    assert (code, document(out)["person"]["name"]) == (0, "Annie")
    code, _, err = edgefaced("rename", "Annie", "bob")
    assert code == 1
    assert "bob is already enrolled" in err
    code, _, err = edgefaced("rename", "Annie", "a\nb")
    assert code == 2
    assert "line breaks" in err
    assert names_in(own_places) == ["Annie", "Bob"]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_names(edgefaced: Run, own_places: Path, name: str) -> None:
    enrolled(own_places, name, "Bob")
    code, out, _ = edgefaced("list")
    assert code == 0
    assert name in out
    code, out, _ = edgefaced("show", "--json", "--", name)
    assert (code, document(out)["person"]["name"]) == (0, name)
    code, out, _ = edgefaced("rename", "--", "Bob", f"{name} 2")
    assert (code, out) == (0, f"Bob is now {name} 2\n")
    code, out, _ = edgefaced("remove", "--yes", "--", name, f"{name} 2")
    assert (code, out) == (0, f"removed {name}, {name} 2: 2 templates, 0 pictures\n")
    assert names_in(own_places) == []


def test_bytes_that_are_no_text(edgefaced: Run, own_places: Path) -> None:
    enrolled(own_places, "Ann")
    code, _, err = edgefaced("show", "\udcff")
    assert code == 1
    assert "is not enrolled" in err
    code, out, _ = edgefaced("show", "--json", "\udcff")
    assert (code, document(out)["error"]["code"]) == (1, "refused")


def test_remove_asks_nobody_without_a_terminal(
    edgefaced: Run, own_places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enrolled(own_places, "Ann")
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        code, out, err = edgefaced("remove", "Ann")
    assert (code, out) == (2, "")
    assert "--yes" in err
    assert names_in(own_places) == ["Ann"]


def test_remove_is_all_or_none(edgefaced: Run, own_places: Path) -> None:
    enrolled(own_places, "Ann", "Bob", "Carl")
    assert edgefaced("remove", "--yes", "Ann", "nobody")[0] == 1
    assert names_in(own_places) == ["Ann", "Bob", "Carl"]
    code, out, _ = edgefaced("remove", "--yes", "Ann", "ANN", "--json")
    body = document(out)
    assert (code, len(body["person_ids"]), body["templates"], body["scrubbed"]) == (0, 1, 1, True)
    assert edgefaced("remove", "--yes", "--all")[0] == 0
    assert names_in(own_places) == []


@pytest.mark.parametrize("arguments", [[], ["Ann", "--all"]])
def test_remove_whom(edgefaced: Run, own_places: Path, arguments: list[str]) -> None:
    enrolled(own_places, "Ann")
    code, _, err = edgefaced("remove", "--yes", *arguments)
    assert code == 2
    assert "--all" in err


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, []), ("n\n", 130, ["Ann"])])
def test_remove_asks_on_a_terminal(
    own_places: Path, answer: str, code: int, left: list[str]
) -> None:
    enrolled(own_places, "Ann")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "edgefaced", "remove", "Ann"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    _, err = process.communicate()
    os.close(ours)
    assert process.returncode == code
    assert "Remove Ann with all templates and pictures?" in err
    assert names_in(own_places) == left


def test_remains_are_said_and_can_be_scrubbed(edgefaced: Run, own_places: Path) -> None:
    enrolled(own_places, "Ann", "Bob")
    with closing(sqlite3.connect(own_places / "state" / "gallery.db")) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM people").fetchone() == (2,)
        code, out, err = edgefaced("remove", "--yes", "Ann", "--json")
        assert (code, document(out)["scrubbed"]) == (6, False)
        assert "gallery scrub" in err
        assert "yes: run" in edgefaced("gallery", "info")[1]
        reader.execute("COMMIT")
    assert edgefaced("gallery", "scrub") == (0, "nothing is left of removed records\n", "")
    assert document(edgefaced("gallery", "info", "--json")[1])["scrub_pending"] is False


def test_a_person_with_damaged_records_can_be_removed(edgefaced: Run, own_places: Path) -> None:
    enrolled(own_places, "Ann", "Bob")
    with closing(sqlite3.connect(own_places / "state" / "gallery.db", isolation_level=None)) as db:
        db.execute("UPDATE people SET name = zeroblob(40) WHERE row = 1")
    code, _, err = edgefaced("list")
    assert code == 6
    assert "row 1 of people.name is damaged" in err
    assert err.count("\n") == 1
    assert edgefaced("show", "nobody")[0] == 1, "no hint, but an answer"
    assert edgefaced("remove", "--yes", "Ann")[0] == 0
    assert names_in(own_places) == ["Bob"]
