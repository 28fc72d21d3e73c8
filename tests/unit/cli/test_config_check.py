"""`config check`: what is wrong in the file is an error, what the machine lacks is a warning."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from installation import Installation
from tiny_pack import TinyPack

from edgefaced.checkup import Caution, Machine, check
from edgefaced.cli.main import run
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.errors import ConfigError, ManifestError, StorageError
from edgefaced.gallery.store import Gallery

Capture = pytest.CaptureFixture[str]

TINY: dict[str, Any] = {
    "models": {"pack": "tiny"},
    "detection": {"input_size_px": 32},
    "recognition": {"fixed_threshold": 0.5},
    "thermal": {"zones": ()},
}


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    """A machine with the tiny pack known and not installed."""
    installation = Installation(tmp_path)
    installation.know(TinyPack())
    return installation


@pytest.fixture
def places(tmp_path: Path, here: Installation) -> Places:
    return Places(tmp_path / "edgefaced.toml", tmp_path / "state", here.store.folder)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """One without any device."""
    return Machine(tmp_path / "dev", tmp_path / "video4linux", tmp_path / "thermal")


Judge = Callable[..., dict[str, Caution]]


@pytest.fixture
def judge(places: Places, machine: Machine) -> Judge:
    """Cautions by key, for the tiny pack's settings and others."""

    def judged(**sections: dict[str, Any]) -> dict[str, Caution]:
        settings = Settings.model_validate({**TINY, **sections})
        return {caution.key: caution for caution in check(settings, places, machine)}

    return judged


def test_a_bare_machine_has_warnings_and_a_configuration_in_order(
    own_places: Path, capsys: Capture
) -> None:
    assert run(["config", "check"]) == 0
    said = capsys.readouterr()
    assert "absent: defaults" in said.out
    assert "warnings" in said.out
    lines = said.err.splitlines()
    assert any(line.startswith("warning: models.pack: reference is not ready") for line in lines)
    assert "`edgefaced models pull reference`" in said.err
    assert run(["config", "check", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is True
    keys = [warning["key"] for warning in document["warnings"]]
    assert "models.pack" in keys


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[models]\npack = 'refrence'", ["models.pack = 'refrence'", "reference"]),
        (
            "[detection]\ninput_size_px = 480",
            ["detection.input_size_px = 480", "160, 320, 640"],
        ),
        ("[policy]\nagreeing_frames = 6", ["policy.agreeing_frames = 6", "window_frames"]),
        ("[camera]\nkind = 'replay'", ["camera.replay_paths"]),
        ("[presence]\nmotion_chip = 'pins'", ["presence", "belong together"]),
        (
            "[[thermal.bands]]\nname = 'a'\nframe_stride = 1\nkey_frame_interval = 1\nrest = true",
            ["thermal.bands"],
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_an_error(
    own_places: Path, capsys: Capture, text: str, words: list[str]
) -> None:
    (own_places / "edgefaced.toml").write_text(text)
    assert run(["config", "check"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert all(word in said.err for word in words)


def test_a_pack_without_a_threshold_is_an_error(judge: Judge) -> None:
    with pytest.raises(ConfigError, match="no calibration"):
        judge(recognition={})


def test_a_manifest_that_cannot_be_read_is_an_error(judge: Judge, here: Installation) -> None:
    manifest = here.store.layout.packs / "tiny.toml"
    manifest.write_text("?")
    with pytest.raises(ManifestError, match=r"tiny\.toml"):
        judge()
    shutil.rmtree(here.store.layout.packs)
    here.store.layout.packs.touch()
    with pytest.raises(StorageError, match="packs"):
        judge()


def test_a_pack_is_ready_old_or_lacking(judge: Judge, here: Installation) -> None:
    assert "tiny-detector, tiny-embedder" in judge()["models.pack"].message
    pack = here.know(TinyPack())
    here.pull(pack)
    assert "models.pack" not in judge()
    path = here.store.layout.prepared(pack.model[0]) / "prepared.json"
    record = here.store.record(pack.model[0])
    path.write_text(record.model_copy(update={"prepare_version": 1}).model_dump_json())
    assert "older version" in judge()["models.pack"].message
    path.unlink()
    assert judge()["models.pack"].message == "tiny is not ready on this machine: tiny-detector"


def test_an_npu_or_a_provider_that_is_not_there_is_a_warning(
    judge: Judge, here: Installation
) -> None:
    here.pull(here.know(TinyPack()))
    assert (
        "no NPU of Rockchip's" in judge(inference={"backend": "rknn"})["inference.backend"].message
    )
    found = judge(inference={"providers": ["qnn"]})["inference.providers"]
    assert "QNNExecutionProvider" in found.message
    assert "onnxruntime-qnn" in found.hint
    allowed = judge(inference={"backend": "rknn", "fallback": "cpu"})
    assert "inference.backend" not in allowed


def test_a_camera_that_is_not_there_is_a_warning(judge: Judge, machine: Machine) -> None:
    assert judge()["camera.kind"].message == "no camera found"
    named = judge(camera={"device": "C920"})["camera.device"]
    assert named.message == "camera 'C920' is not there"
    machine.dev.mkdir()
    (machine.dev / "video0").touch()
    no_camera = judge(camera={"device": str(machine.dev / "video0")})["camera.device"]
    assert str(machine.dev / "video0") in no_camera.message


def test_a_library_that_is_not_there_is_a_warning(judge: Judge) -> None:
    assert "picamera2" in judge(camera={"kind": "picamera2"})["camera.kind"].message


def test_zones_that_are_not_there_are_a_warning(judge: Judge, machine: Machine) -> None:
    assert "thermal.zones" not in judge()
    zone = machine.zones / "thermal_zone0"
    zone.mkdir(parents=True)
    (zone / "type").write_text("cpu-thermal\n")
    (zone / "temp").write_text("45000\n")
    assert "thermal.zones" not in judge(thermal={"zones": ("cpu*",)})
    assert "npu" in judge(thermal={"zones": ("cpu*", "npu*")})["thermal.zones"].message


def test_a_motion_sensor_that_is_not_there_is_a_warning(judge: Judge, tmp_path: Path) -> None:
    sensor = {"motion_chip": str(tmp_path / "pins"), "motion_line": "pir"}
    section = {**sensor, "motion_chip_kind": "file"}
    assert "no folder" in judge(presence=section)["presence.motion_chip"].message
    (tmp_path / "pins").mkdir()
    assert "presence.motion_chip" not in judge(presence=section)
    assert "presence.motion_chip" in judge(presence=sensor)


def test_a_doors_chip_that_is_not_there_is_a_warning(judge: Judge, tmp_path: Path) -> None:
    door = {"chip": str(tmp_path / "pins"), "chip_kind": "file", "relay_line": "relay"}
    warnings = judge(doors={"front": door})
    assert "no folder" in warnings["doors.front.chip"].message
    assert "opens for no face" in warnings["doors"].message
    (tmp_path / "pins").mkdir()
    assert "doors.front.chip" not in judge(doors={"front": door})


def test_a_gallery_without_its_key_is_a_warning(judge: Judge, places: Places) -> None:
    assert "gallery" not in judge()
    Gallery.open(places.gallery_file, places.key_file, create=True).close()
    assert "gallery" not in judge()
    places.key_file.unlink()
    assert str(places.key_file) in judge()["gallery"].message
