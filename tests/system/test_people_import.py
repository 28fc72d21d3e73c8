"""`edgefaced people import`: real photographs of a table, row by row, again and again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_in_pack import PACK

from edgefaced.cli.main import run

Import = Callable[..., tuple[int, dict[str, Any]]]

ANN, BOB, CY, DORA = (
    "Jennifer_Capriati",
    "Pete_Sampras",
    "Gloria_Macapagal_Arroyo",
    "Lleyton_Hewitt",
)


@pytest.fixture
def place(own_places: Path, stand_in_models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(stand_in_models))
    (own_places / "edgefaced.toml").write_text(f'[models]\npack = "{PACK}"\n')
    return own_places


@pytest.fixture
def photos(shared_data: Path, tmp_path: Path) -> Path:
    """Photographs as an office has them: folders, single files, a blurred one, a broken one."""
    folder = tmp_path / "photos"
    folder.mkdir()
    images = shared_data / "lfw" / "images"
    for person, count in ((ANN, 3), (CY, 2)):
        (folder / person).mkdir()
        for picture in sorted((images / person).glob("*.jpg"))[:count]:
            shutil.copy(picture, folder / person)
    shutil.copy(min((images / BOB).glob("*.jpg")), folder / "bob.jpg")
    shutil.copy(min((images / DORA).glob("*.jpg")), folder / "D-4.jpg")
    shutil.copy(shared_data / "detect" / "inspireface_blur.jpg", folder / "blurred.jpg")
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff no picture")
    return folder


@pytest.fixture
def import_table(
    place: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Import:
    def act(table: str, *options: str) -> tuple[int, dict[str, Any]]:
        path = tmp_path / "people.csv"
        path.write_text(table, encoding="utf-8-sig")
        words = ["people", "import", str(path), "--photos", str(photos), "--largest", "--json"]
        status = run([*words, *options])
        return status, json.loads(capsys.readouterr().out)

    return act


def people(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert run(["list", "--json"]) == 0
    return {p["name"]: p for p in json.loads(capsys.readouterr().out)["people"]}


TABLE = f"""name;external_id;groups;photo;consent
Jennifer Capriati;A-1;"staff;night";;on paper, 2026
Bob "The Racket" Sampras;B-2;staff;bob.jpg;
Gloria Macapagal Arroyo;;;{CY};
jennifer  CAPRIATI;A-9;;;
Somebody;A-1;;bob.jpg;
Blurred;;;blurred.jpg;
Broken;;;broken.jpg;
Absent;;;;
Escape;;;../../etc/passwd;
=HYPERLINK(1);H-1;;bob.jpg;
Dora;D-4;;;
"""


def outcomes(said: dict[str, Any]) -> dict[int, str]:
    return {row["line"]: row["outcome"] for row in said["rows"]}


def reasons(said: dict[str, Any]) -> dict[int, str]:
    return {row["line"]: row["reason"] for row in said["rows"]}


def test_a_table_is_imported_row_by_row_and_again(
    import_table: Import, capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    status, tried = import_table(TABLE, "--dry-run")
    assert status == 1
    assert not (place / "state" / "gallery.db").exists()
    status, said = import_table(TABLE, "--consent", "by contract")
    assert status == 1
    assert outcomes(said) == outcomes(tried)
    kept = {line for line, outcome in outcomes(said).items() if outcome == "kept"}
    assert kept == {2, 3, 4, 12}
    assert said["totals"] == {"kept": 4, "skipped": 0, "updated": 0, "refused": 7}
    why = reasons(said)
    assert why[5] == "the same name as in line 2"
    assert why[6] == "the same external id as in line 2"
    assert "blurred" in why[7]
    assert "broken.jpg" in why[8]
    assert why[9].startswith("no photo of Absent")
    assert "lies outside" in why[10]
    assert 'already enrolled as Bob "The Racket" Sampras' in why[11]
    assert reasons(tried)[11] == 'the same face as Bob "The Racket" Sampras in line 3'
    found = people(capsys)
    ann = found["Jennifer Capriati"]
    assert (ann["external_id"], ann["groups"]) == ("A-1", ["night", "staff"])
    assert ann["consent"]["note"] == "on paper, 2026"
    assert found["Dora"]["consent"]["note"] == "by contract"
    assert len(found) == 4

    status, again = import_table(TABLE)
    assert status == 1
    assert again["totals"] == {"kept": 0, "skipped": 4, "updated": 0, "refused": 7}
    assert reasons(again)[2] == "enrolled already"
    assert people(capsys) == found


def test_what_is_enrolled_is_updated_only_when_asked(
    import_table: Import, capsys: pytest.CaptureFixture[str]
) -> None:
    assert import_table("name,photo,groups\nBob,bob.jpg,a\n")[0] == 0
    changed = "name,photo,groups,id\nBob,bob.jpg,b;c,B-2\n"
    status, said = import_table(changed)
    assert (status, outcomes(said)) == (0, {2: "skipped"})
    assert "--update" in reasons(said)[2]
    assert outcomes(import_table(changed, "--update", "--dry-run")[1]) == {2: "updated"}
    assert people(capsys)["Bob"]["groups"] == ["a"]
    assert outcomes(import_table(changed, "--update")[1]) == {2: "updated"}
    bob = people(capsys)["Bob"]
    assert (bob["groups"], bob["external_id"]) == (["b", "c"], "B-2")
    # The same name with another id, and the same id with another name, may be somebody else.
    status, said = import_table("name,photo,id\nBob,D-4.jpg,B-3\nDora,D-4.jpg,b-2\nDora,,D-4\n")
    assert (status, outcomes(said)) == (1, {2: "refused", 3: "refused", 4: "refused"})
    assert "external id B-2" in reasons(said)[2]
    assert "is Bob's" in reasons(said)[3]


def test_a_table_for_a_person_at_the_terminal(
    place: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = photos / "people.csv"
    table.write_bytes("name\tremark\r\nDora\tD\xfcrer\r\nNobody\t\r\n".encode("cp1252"))
    (photos / "dora.jpg").write_bytes((photos / "D-4.jpg").read_bytes())
    assert run(["people", "import", str(table), "--largest"]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "line 2: Dora: kept, 1 of 1 pictures"
    assert said.out.splitlines()[1].startswith("line 3: Nobody: refused, no photo of Nobody")
    assert "columns that mean nothing here: remark" in said.err
    assert "1 kept, 1 refused" in said.err


def test_what_is_no_table_is_a_usage_error(
    place: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["people", "import", str(photos / "bob.jpg")]) == 2
    assert run(["people", "import", str(photos / "absent.csv")]) == 2
    assert "Traceback" not in capsys.readouterr().err
