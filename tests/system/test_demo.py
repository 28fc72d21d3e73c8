"""`edgefaced demo` as a newcomer runs it: real networks, real photographs, real gallery."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from edgefaced.cli.main import run
from edgefaced.config.places import places_of_this_process
from edgefaced.demo.install import is_installed
from edgefaced.demo.pictures import read_album
from edgefaced.demo.script import SCENES
from edgefaced.demo.studio import shots_of
from edgefaced.errors import DownloadError
from edgefaced.models.catalogue import find_pack
from edgefaced.models.store import ModelStore
from edgefaced.pictures.decode import read_picture
from edgefaced.pictures.video import read_video

pytestmark = pytest.mark.slow

STRIDE = 10
NO_NETWORK = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": "",
    "PIP_RETRIES": "0",
}


@pytest.fixture(scope="module")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with all that the demo needs: this person's, else a new one, pulled."""
    here = places_of_this_process().models_dir
    manifest, album = find_pack("reference"), read_album()
    if is_installed(manifest, album, ModelStore(here)):
        return here
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEFACED_MODELS_DIR", str(folder))
        status = run(["demo", "--output", str(folder / "first-run"), "--stride", "30", "--json"])
    if status == DownloadError.exit_code:
        pytest.skip("no reference pack here and none can be pulled: no package index")
    assert status == 0
    return folder


@pytest.fixture
def place(tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person without a network, a gallery or a configuration, who has pulled once."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("EDGEFACED_CONFIG", str(tmp_path / "edgefaced.toml"))
    monkeypatch.setenv("EDGEFACED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(models_dir))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    for name, value in NO_NETWORK.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def document(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    status = run(["demo", *arguments, "--json"])
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert status == (0 if body["passed"] else 1)
    return body


def test_everybody_is_recognised_and_no_stranger_is(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--output", str(place / "out"), "--stride", str(STRIDE)]
    body = document(arguments, capsys)
    assert body["passed"] is True
    assert body["false_accepts"] == 0
    assert [scene["scene"] for scene in body["scenes"]] == [scene.name for scene in SCENES]
    for scene in body["scenes"]:
        assert scene["recognised_people"] == scene["enrolled_people"]
    assert body["frames"] == sum(shots_of(scene, STRIDE) for scene in SCENES)
    faces = sum(scene["faces"] for scene in body["scenes"])
    assert len(body["decisions"]) == faces + sum(scene["no_face"] for scene in body["scenes"])
    strangers = {d["face"] for d in body["decisions"] if str(d["face"]).startswith("Stranger")}
    assert len(strangers) == 2 + 29
    assert {time["stage"] for time in body["latency"]} >= {"detect", "embed", "match", "decide"}

    files = {name: Path(path) for name, path in body["files"].items()}
    assert all(path.is_absolute() and path.parent == place / "out" for path in files.values())
    assert min(read_picture(files["contact_sheet"]).shape[:2]) > 1000
    with read_video(files["video"]) as frames:
        assert sum(1 for _ in frames) == body["frames"]
    assert "CC BY-SA" in files["credits"].read_text(encoding="utf-8")

    # The gallery was the demo's own, and nothing of it is left.
    assert not (place / "state").exists()
    assert not list((place / "tmp").iterdir())


def test_a_seed_decides_everything(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--output", str(place / "out"), "--stride", "30", "--seed"]
    one, again, other = (document([*arguments, seed], capsys) for seed in ("2", "2", "3"))
    assert one["decisions"] == again["decisions"]
    assert one["decisions"] != other["decisions"]
    assert one["passed"]
    assert other["passed"]


def test_a_person_reads_lines_and_tables(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--output", str(place / "out"), "--stride", "30"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "\x1b" not in said.out
    assert str(place / "out" / "contact-sheet.jpg") in said.out
    for part in ("1 of 4", "Person B", "recognised", "false", "p95", "edgefaced enroll", "CC BY"):
        assert part in said.out
    assert "exit 0: no false accept" in said.out


def test_a_threshold_that_nobody_reaches_is_exit_1(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demo's verdict is not decoration: with another threshold it fails, and says who."""
    (place / "edgefaced.toml").write_text("[recognition]\nfixed_threshold = 0.7\n")
    assert run(["demo", "--output", str(place / "out"), "--stride", "30"]) == 1
    said = capsys.readouterr().out
    assert "Person A never recognised in 'walk-up'" in said


def test_a_threshold_that_everybody_reaches_counts_false_accepts(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "edgefaced.toml").write_text(
        "[recognition]\nfixed_threshold = 0.05\nminimum_margin = 0.0\n"
    )
    body = document(["--output", str(place / "out"), "--stride", "30"], capsys)
    assert body["passed"] is False
    assert body["false_accepts"] > 10


def test_without_models_or_network_it_is_one_line(
    own_places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in NO_NETWORK.items():
        monkeypatch.setenv(name, value)
    assert run(["demo", "--output", str(own_places / "out")]) == DownloadError.exit_code
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("edgefaced: ")
    assert "PIP_FIND_LINKS" in last


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_done(
    own_places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_places / "file").touch()
    assert run(["demo", "--output", str(own_places / "file" / "out")]) == 9
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert "--output" in said.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_working_directory_is_one_line(
    own_places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    locked = own_places / "locked"
    locked.mkdir(mode=0o500)
    monkeypatch.chdir(locked)
    assert run(["demo"]) == 9
    assert "--output" in capsys.readouterr().err
