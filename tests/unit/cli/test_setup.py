"""`edgefaced setup` by options: what it would do, what it does, and what it refuses."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from tiny_pack import TinyPack

from edgefaced.cli.context import CliContext
from edgefaced.cli.setup_live import look
from edgefaced.config.places import places_of_this_process
from edgefaced.models.fetch.pip_config import PipConfig

Run = Any
"""The fixture's own type is in a conftest."""

STANDING = """
[camera]
kind = "replay"
replay_paths = ["{pictures}"]
replay_loop = true
[detection]
input_size_px = 32
[recognition]
fixed_threshold = 0.5
[inference]
threads = 1
[thermal]
zones = []
"""


@pytest.fixture
def site(own_places: Path) -> Path:
    """A folder with a camera's recordings and a stick with a pack; nobody has set anything up."""
    pictures = own_places / "pictures"
    pictures.mkdir()
    assert cv2.imwrite(str(pictures / "a.png"), np.full((64, 64, 3), 90, np.uint8))
    tiny = TinyPack()
    tiny.write_files(own_places / "stick")
    tiny.write_manifest(own_places / "stick")
    (own_places / "pins").mkdir()
    (own_places / "pins" / "strike").write_text("0")
    return own_places


def document(said: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(said)
    return body


def test_a_dry_run_says_everything_and_does_nothing(edgefaced: Run, site: Path) -> None:
    before = sorted(site.rglob("*"))
    words = ["setup", "--dry-run", "--camera", f"replay:{site / 'pictures'}"]
    words += ["--door", "front", "--chip", f"file:{site / 'pins'}", "--relay", "strike"]
    words += ["--lines", str(site / "events.jsonl")]
    code, out, _ = edgefaced(*words, "--json")
    body = document(out)
    assert code == 0
    assert [step["state"] for step in body["steps"]] == ["to do"] * 2
    assert body["steps"][0]["what"] == "download the networks of commercial"
    table = tomllib.loads(body["configuration"])
    assert table["models"] == {"pack": "commercial"}
    assert table["doors"]["front"]["liveness"] == "required"
    assert table["lines"] == {"path": str(site / "events.jsonl")}
    code, out, _ = edgefaced(*words)
    assert code == 0
    assert "to do: write " in out
    assert '\nliveness = "required"\n' in out
    words[3] = f"replay:{site / 'pins'}"
    assert edgefaced(*words)[0] == 3, "there is no picture"
    assert sorted(site.rglob("*")) == before


def test_a_pack_from_a_stick_then_all_the_rest(edgefaced: Run, site: Path) -> None:
    config = site / "edgefaced.toml"
    config.write_text(STANDING.format(pictures=site / "pictures"))
    words = ["setup", "--yes", "--pack", "tiny", "--from", str(site / "stick")]
    code, _, err = edgefaced(*words)
    assert (code, "licence of tiny is not known" in err) == (2, True)
    code, out, _ = edgefaced(*words, "--accept-licence", "tiny", "--live", "0.5", "--json")
    body = document(out)
    assert (code, body["ok"], body["live"]["fault"]) == (0, True, ""), body
    assert body["live"]["lines"][0] == "the camera gives pictures"
    assert "enrol somebody: edgefaced enroll NAME --camera" in body["next"]
    assert tomllib.loads(config.read_text())["models"] == {"pack": "tiny"}
    code, out, _ = edgefaced("setup", "--yes", "--live", "0")
    assert code == 0
    assert f"as it was: write {config}" in out
    assert "0 faults" in out
    door = ["--door", "front", "--chip", f"file:{site / 'pins'}", "--relay", "strike"]
    code, out, _ = edgefaced("setup", "--yes", "--live", "0", *door)
    assert code == 0
    assert "access grant NAME --door front" in out
    assert "opens for no face" in out
    assert f"the configuration of before: {config}.bak" in out
    _, out, _ = edgefaced("setup", "--yes", "--live", "0", *door, "--for", "staff")
    assert "access join NAME staff" in out


def test_networks_that_come_later(edgefaced: Run, site: Path) -> None:
    code, out, _ = edgefaced(
        "setup", "--yes", "--no-pull", "--live", "0", "--camera", f"replay:{site / 'pictures'}"
    )
    assert code == 1, "doctor complains that they are missing"
    assert "networks: edgefaced models pull commercial" in out
    assert tomllib.loads((site / "edgefaced.toml").read_text())["models"] == {"pack": "commercial"}


def test_without_a_network_nothing_is_changed_and_the_stick_is_named(
    edgefaced: Run, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = PipConfig(index_url="http://127.0.0.1:9/simple", timeout_seconds=1.0, retries=0)
    monkeypatch.setattr(
        "edgefaced.models.fetch.pip_config.pip_config_of_this_process", lambda: nowhere
    )
    code, _, err = edgefaced("setup", "--yes", "--camera", f"replay:{site / 'pictures'}")
    assert code == 5
    assert "--from" in err
    assert not (site / "edgefaced.toml").exists()


def test_half_a_pack_is_said(edgefaced: Run, site: Path) -> None:
    (site / "stick" / "embedder.onnx").unlink()
    words = ["setup", "--yes", "--pack", "tiny", "--accept-licence", "tiny"]
    code, _, err = edgefaced(*words, "--from", str(site / "stick"))
    assert (code, "lacks a network" in err) == (5, True)
    assert not (site / "edgefaced.toml").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["setup"], 2, "nobody can be asked here"),
        (["setup", "--yes", "--door", "front"], 2, "say --chip"),
        (["setup", "--yes", "--no-pull", "--service"], 2, "--service: "),
        (["setup", "--yes", "--no-pull", "--lines", "x", "--mqtt", "a b"], 3, "mqtt.host"),
        (["setup", "--yes", "--mqtt", "b", "--mqtt-password-file", "/nowhere"], 9, "/nowhere"),
    ],
)
def test_what_is_refused_changes_nothing(
    edgefaced: Run, site: Path, words: list[str], code: int, said: str
) -> None:
    before = sorted(site.rglob("*"))
    refused, _, err = edgefaced(*words)
    assert (refused, said in err) == (code, True), err
    assert sorted(site.rglob("*")) == before


def test_a_configuration_that_is_not_in_order_is_not_built_upon(edgefaced: Run, site: Path) -> None:
    (site / "edgefaced.toml").write_text("[camera]\nkind = 'eye'\n")
    code, _, err = edgefaced("setup", "--yes")
    assert (code, "camera.kind" in err) == (3, True)


def test_a_camera_that_is_not_there_is_a_fault_at_the_end(edgefaced: Run, site: Path) -> None:
    (site / "edgefaced.toml").write_text(
        STANDING.format(pictures=site / "pictures").replace("replay_loop", "# replay_loop")
    )
    words = ["setup", "--yes", "--pack", "tiny", "--accept-licence", "tiny", "--json"]
    words += ["--from", str(site / "stick"), "--camera", "/dev/video77"]
    code, out, _ = edgefaced(*words, "--live", "0.5")
    body = document(out)
    assert (code, body["ok"]) == (1, False)
    assert "/dev/video77" in body["live"]["fault"]
    assert tomllib.loads((site / "edgefaced.toml").read_text())["camera"]["kind"] == "v4l2"


def test_without_networks_there_is_nothing_to_look_with(site: Path) -> None:
    context = CliContext(places_of_this_process())
    seen = look(context, 1.0, lambda line: None)
    assert "models pull" in seen.fault
    assert seen.lines == ()
