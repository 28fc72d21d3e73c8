"""`config show` and `config check`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from edgefaced.cli.main import run
from edgefaced.config.places import places
from edgefaced.config.settings import Settings, read_settings
from edgefaced.errors import ConfigError


def test_show_names_every_key(own_places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "show"]) == 0
    shown = capsys.readouterr().out
    for section, keys in Settings().model_dump().items():
        for key in keys:
            assert f"{section}.{key}" in shown
    assert str(own_places / "edgefaced.toml") in shown


def test_changes_are_only_what_differs(
    own_places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_places / "edgefaced.toml").write_text(
        '[recognition]\ntarget_fpir = 0.01\n[gallery]\nindex = "auto"\n'
    )
    assert run(["config", "show", "--changes", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["settings"] == {"recognition.target_fpir": 0.01}
    assert run(["config", "check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed_keys"] == 1
    assert run(["config", "check"]) == 0
    assert "in order" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[recognition]\ntarget_fpir = 2", ["recognition.target_fpir", "2", "0.5"]),
        ("[recognition]\ntarget_fpri = 0.1", ["recognition.target_fpri", "not permitted"]),
        ("[gallery]\nindex = 'fast'", ["gallery.index", "fast", "exact"]),
        ("[quality]\nmaximum_yaw = nan", ["quality.maximum_yaw", "nan"]),
        ("not toml", ["edgefaced.toml"]),
        ("[detection]\ninput_size_px = 300", ["detection.input_size_px", "300", "32"]),
    ],
)
def test_a_fault_is_one_line_with_key_value_and_what_is_allowed(
    own_places: Path, capsys: pytest.CaptureFixture[str], text: str, words: list[str]
) -> None:
    (own_places / "edgefaced.toml").write_text(text)
    assert run(["config", "check"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    for word in words:
        assert word in captured.err


def test_a_file_named_by_hand_must_exist(
    own_places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "check"]) == 0
    assert "absent: defaults" in capsys.readouterr().out
    assert run(["--config", str(own_places / "no.toml"), "config", "check"]) == 3


def test_a_folder_is_not_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=str(tmp_path)):
        read_settings(tmp_path)


def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ConfigError, match="no regular file"):
            read_settings(path)


def test_limits_have_the_sections_figures() -> None:
    section = Settings().quality
    assert section.limits().maximum_yaw == section.maximum_yaw


def test_places_of_root_of_a_person_of_a_unit_and_moved() -> None:
    root = places({}, root=True)
    assert str(root.config_file) == "/etc/edgefaced/edgefaced.toml"
    assert str(root.models_dir) == "/var/lib/edgefaced/models"
    person = places({"HOME": "/home/ann", "XDG_CONFIG_HOME": "/c"}, root=False)
    assert str(person.config_file) == "/c/edgefaced/edgefaced.toml"
    assert str(person.gallery_file) == "/home/ann/.local/share/edgefaced/gallery.db"
    unit = places({"STATE_DIRECTORY": "/s:/t", "CONFIGURATION_DIRECTORY": "/c"}, root=False)
    assert str(unit.key_file) == "/s/gallery.key"
    assert str(unit.config_file) == "/c/edgefaced.toml"
    moved = places({"EDGEFACED_STATE_DIR": "/m", "STATE_DIRECTORY": "/s"}, root=True)
    assert str(moved.state_dir) == "/m"
