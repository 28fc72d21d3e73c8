"""`edgefaced setup` as an installer meets it: at a terminal, and by options alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from stand_in_pack import PACK
from terminal import Terminal

ANN = "Jennifer_Capriati"


class Site:
    """A device of the test's own: folders, pins, and recordings for a camera."""

    def __init__(self, folder: Path, models: Path) -> None:
        self.folder = folder
        self.config = folder / "edgefaced.toml"
        self.environment = {
            **os.environ,
            "EDGEFACED_CONFIG": str(self.config),
            "EDGEFACED_STATE_DIR": str(folder / "state"),
            "EDGEFACED_MODELS_DIR": str(models),
        }

    @property
    def camera(self) -> str:
        return f"replay:{self.folder / 'camera'}"

    def words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "edgefaced", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.words(*words),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done

    def document(self, *words: str) -> dict[str, Any]:
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr + done.stdout
        body: dict[str, Any] = json.loads(done.stdout)
        return body

    def table(self) -> dict[str, Any]:
        return tomllib.loads(self.config.read_text())


BEFORE = """# by hand
[camera]
replay_picture_seconds = 2.0
[thermal]
zones = []
[policy]
recheck_seconds = 0.2
cool_down_seconds = 0
"""
LONG = ("--live", "600")
"""Until somebody has seen enough."""


@pytest.fixture
def bare(tmp_path: Path) -> Site:
    """Nobody in front of the camera, and no pack."""
    (tmp_path / "camera").mkdir()
    wall = np.full((250, 250, 3), 90, np.uint8)
    assert cv2.imwrite(str(tmp_path / "camera" / "nobody.png"), wall)
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins" / "strike").write_text("0")
    site = Site(tmp_path, tmp_path / "models")
    site.config.write_text(BEFORE)
    return site


@pytest.fixture
def site(shared_data: Path, stand_in_models: Path, bare: Site) -> Site:
    """Somebody who comes and goes, and a pack whose licence is to be agreed to."""
    pictures = sorted((shared_data / "lfw" / "images" / ANN).glob("*.jpg"))
    shutil.copy(pictures[3], bare.folder / "camera")
    return Site(bare.folder, stand_in_models)


def test_by_questions_at_a_terminal(site: Site) -> None:
    with Terminal(site.words("setup", *LONG), site.environment) as door:
        door.answer("Which camera?", site.camera)
        door.answer("Which model pack?", PACK)
        door.answer("Do you keep to this licence", "")
        door.answer("Which model pack?", PACK)
        door.answer("Do you keep to this licence", "y")
        door.answer("What is this device for?", "both")
        door.answer("What is the door called?", "Front Door!")
        door.expect("small letters")
        door.answer("", "front")
        door.expect("Which GPIO chip")
        door.expect(": ")
        door.type(f"file:{site.folder / 'pins'}\n")
        door.expect("Which line switches the relay?")
        door.expect(": ")
        door.type("strike\n")
        door.answer("switch when its pin is LOW?", "")
        door.answer("For how many seconds", "2.5")
        door.answer("Who may pass?", "staff")
        door.answer("When?", "mon-fri 07:00-18:00; sat 09:00-13:00")
        door.answer("NO check that a face is alive", "y")
        door.answer("Who comes and who goes?", "in")
        door.answer("Shall events go to other machines", "")
        door.answer("Shall this be done?", "")
        door.expect("face found")
        door.expect("not enrolled: unknown")
        door.type("\x03")
        assert door.end() == 0, door.said
    assert "Traceback" not in door.said
    table = site.table()
    assert table["doors"]["front"] == {
        "chip_kind": "file",
        "chip": str(site.folder / "pins"),
        "relay_line": "strike",
        "pulse_ms": 2500,
        "liveness": "not required",
    }
    assert table["groups"]["staff"] == {"doors": ["front"], "schedule": "front"}
    assert table["attendance"] == {"enabled": True, "mode": "in"}
    assert table["policy"] == {"recheck_seconds": 0.2, "cool_down_seconds": 0}
    assert "# Which model pack" in site.config.read_text()
    assert (site.folder / "edgefaced.toml.bak").read_text() == BEFORE
    assert site.run("config", "check").returncode == 0


def test_what_is_typed_is_planned_and_a_password_is_never_shown(bare: Site) -> None:
    with Terminal(bare.words("setup", "--dry-run"), bare.environment) as door:
        door.answer("Which camera?", "1")
        door.answer("Which model pack?", "17")
        door.expect("please")
        door.answer("", "commercial")
        door.answer("Where do its networks come from?", "/media/stick")
        door.answer("What is this device for?", "events")
        door.answer("Shall events go to other machines", "y")
        door.answer("MQTT broker?", "broker.example.org")
        door.answer("Web address", "")
        door.answer("File for lines", "")
        door.answer("Does the broker speak TLS?", "")
        door.answer("Its user name?", "door")
        door.expect("Its password?")
        door.expect("answer: ")  # what is typed before that is thrown away
        door.type("geheim\n")
        assert door.end() == 0, door.said
    assert "import the networks of commercial from /media/stick" in door.said
    assert 'host = "broker.example.org"' in door.said
    assert "geheim" not in door.said
    assert bare.config.read_text() == BEFORE


def test_a_stick_that_has_nothing_is_asked_for_again(bare: Site) -> None:
    words = ["setup", "--camera", bare.camera, "--pack", "commercial", "--from", "/no/stick"]
    words += ["--attendance", "in", "--no-service", "--live", "0"]
    with Terminal(bare.words(*words), bare.environment) as door:
        door.answer("Shall events go to other machines", "")
        door.answer("Shall this be done?", "")
        door.expect("there is no /no/stick")
        door.expect("Where do its networks come from?")
        door.expect("type it: ")
        door.type("later\n")
        assert door.end() == 1, "doctor complains that nobody can be recognised"
    assert "networks: edgefaced models pull commercial" in door.said
    assert bare.table()["attendance"] == {"enabled": True, "mode": "in"}


@pytest.mark.parametrize("answers", [0, 4])
def test_ctrl_c_at_a_question_changes_nothing(bare: Site, answers: int) -> None:
    words = bare.words("setup", "--pack", "commercial", "--no-pull")
    with Terminal(words, bare.environment) as door:
        door.expect("Which camera?")
        for _ in range(answers):
            door.answer("", "")
        door.expect(": ")
        door.type("\x03")
        door.expect("nothing was changed")
        assert door.end() == 130, door.said
    assert bare.config.read_text() == BEFORE
    assert {path.name for path in bare.folder.iterdir()} == {"edgefaced.toml", "camera", "pins"}


def test_by_options_alone_and_once_more_through_the_running_daemon(
    site: Site, shared_data: Path
) -> None:
    words = ["setup", "--yes", "--camera", site.camera, "--pack", PACK, "--attendance", "in"]
    words += ["--lines", str(site.folder / "events.jsonl")]
    refused = site.run(*words)
    assert refused.returncode == 2
    assert "--accept-licence" in refused.stderr
    assert site.config.read_text() == BEFORE
    said = site.document(*words, "--accept-licence", PACK, "--live", "1")
    assert said["changed"]
    assert said["live"]["fault"] == ""
    assert not site.table().keys() & {"doors", "mqtt", "webhook"}
    pictures = sorted((shared_data / "lfw" / "images" / ANN).glob("*.jpg"))[:3]
    assert site.run("enroll", "Ann", *map(str, pictures)).returncode == 0
    written = site.config.stat().st_mtime_ns
    with subprocess.Popen(
        site.words("run", "--json"), env=site.environment, stdout=subprocess.PIPE, text=True
    ) as daemon:
        assert daemon.stdout is not None
        try:
            next(line for line in daemon.stdout if json.loads(line)["type"] == "face")
            with Terminal(site.words("setup", "--yes", *LONG), site.environment) as again:
                again.expect("recognised: Ann")
                again.type("\x03")
                assert again.end() == 0, again.said
            assert site.config.stat().st_mtime_ns == written
            assert "SIGHUP" not in again.said
            other = site.document("setup", "--yes", "--attendance", "out", "--live", "0")
        finally:
            daemon.terminate()
            daemon.communicate(timeout=60)
    assert any("SIGHUP" in line for line in other["next"])
    assert not any("edgefaced run" in line for line in other["next"])
