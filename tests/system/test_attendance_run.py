"""Attendance for real: the daemon on a replay, then the tables that come of it."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stand_in_pack import PACK

from edgefaced.cli.main import run

ANN, STRANGER = "Jennifer_Capriati", "Pete_Sampras"
ALWAYS = ("--from", "2020-01-01")
NAME = '=HYPERLINK("http://x") Ann; Müller'


@pytest.fixture
def office(
    own_places: Path,
    stand_in_models: Path,
    shared_data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Path:
    """A folder with a configuration and a gallery of one person; a stranger comes after her."""
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(stand_in_models))
    images, people = shared_data / "lfw" / "images", own_places / "people"
    people.mkdir()
    own = sorted((images / ANN).glob("*.jpg"))
    shutil.copy(own[3], people / "1 ann.jpg")
    shutil.copy(min((images / STRANGER).glob("*.jpg")), people / "2 stranger.jpg")
    (own_places / "edgefaced.toml").write_text(
        f'[models]\npack = "{PACK}"\n[thermal]\nzones = []\nlatency_budget_ms = 1e9\n'
        f'[camera]\nkind = "replay"\nreplay_paths = ["{people}"]\nreplay_pace = "fast"\n'
        "replay_picture_seconds = 60.0\nframes_per_second = 3.0\n"
        '[attendance]\nenabled = true\ntime_zone = "Europe/Berlin"\n'
    )
    assert run(["enroll", "--largest", "--", NAME, *map(str, own[:3])]) == 0
    capsys.readouterr()
    return own_places


def test_a_minute_in_front_of_the_camera_is_one_check_in(
    office: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: str) -> str:
        assert run(list(words)) == 0
        return capsys.readouterr().out

    def told(*words: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(said(*words, "--json"))
        return document

    # Both for a minute each, and the same again after a restart, which is within the cool-down.
    for _ in range(2):
        events = [json.loads(line) for line in daemon().splitlines()]
        assert {e["name"] for e in events if e["type"] == "face"} == {NAME, None}
    (record,) = told("attendance", "list", *ALWAYS)["records"]
    assert (record["name"], record["direction"], record["source"]) == (NAME, "in", "alternating")
    assert record["at"].endswith(("+01:00", "+02:00"))
    (total,) = told("attendance", "summary", *ALWAYS)["people"]
    assert (total["present"], total["missing"], total["seconds"]) == (True, 0, 0)

    person = record["person_id"]
    exported = tmp_path / "march.csv"
    said("attendance", "export", str(exported), "--bom")
    assert exported.read_bytes().startswith(b"\xef\xbb\xbf")
    (row,) = csv.DictReader(io.StringIO(exported.read_text("utf-8-sig")))
    assert row["name"] == f"'{NAME}"
    assert (row["person_id"], row["out"], row["hours"], row["state"]) == (person, "", "", "present")
    assert row["in"].replace(" ", "T") == record["at"][:19]

    said("remove", person, "--yes")
    (gone,) = told("attendance", "list", *ALWAYS, "--person", person)["records"]
    assert (gone["name"], gone["person_id"]) == (None, person)


def daemon() -> str:
    """What the daemon says, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "edgefaced", "run", "--json"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
