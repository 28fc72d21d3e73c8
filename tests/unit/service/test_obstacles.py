"""What stands in the way of the service, each as one line with a way out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import Installation
from tiny_pack import TinyPack

from edgefaced.config.settings import Settings
from edgefaced.service.obstacles import (
    Machine,
    Software,
    machine_of_this_process,
    of_the_machine,
    of_the_models,
    of_the_software,
    shut_for_others,
    software_of_this_process,
)
from edgefaced.service.place import Place

GOOD = Machine(0, runs_systemd=True)
SYSTEM = Path("/usr/bin/env")
TINY = Settings.model_validate({"models": {"pack": "tiny"}})


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Machine(1000, runs_systemd=True), "root's to make (put `sudo`"),
        (Machine(0, runs_systemd=False), "systemd does not run this machine"),
        (Machine(0, True, ("systemd-sysusers",)), "systemd-sysusers is not on this machine"),
    ],
)
def test_a_machine_that_cannot_is_told_why(machine: Machine, words: str) -> None:
    assert list(of_the_machine(GOOD, Place())) == []
    (obstacle,) = of_the_machine(machine, Place())
    assert words in str(obstacle)
    assert obstacle.exit_code == 12


def test_a_tree_needs_no_running_systemd(tmp_path: Path) -> None:
    assert list(of_the_machine(Machine(0, runs_systemd=False), Place(tmp_path))) == []


def test_this_process_is_of_this_machine() -> None:
    machine = machine_of_this_process()
    assert machine.runs_systemd is Path("/run/systemd/system").is_dir()
    software = software_of_this_process()
    assert software.executable.name == "edgefaced"
    assert Path(__file__).parents[3] / "edgefaced" in software.parts, "where it is imported from"


@pytest.mark.parametrize(
    "part",
    [
        "/root/.pyenv/versions/3.11/bin/python3.11",
        "/home/ann/edgefaced/.venv",
        "/tmp/edgefaced/bin/edgefaced",  # noqa: S108 - what is to be noticed
    ],
)
def test_software_in_a_hidden_folder_is_refused(part: str) -> None:
    assert list(of_the_software(Software(SYSTEM, (SYSTEM, Path("/usr"))))) == []
    (obstacle,) = of_the_software(Software(SYSTEM, (SYSTEM, Path(part))))
    assert part in obstacle.message
    assert "/opt/edgefaced" in obstacle.hint


def test_an_executable_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (obstacle,) = of_the_software(Software(tmp_path / "edgefaced", (SYSTEM,)))
    assert str(tmp_path / "edgefaced") in obstacle.message


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can read, with an open file in an open folder."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "bin").mkdir(mode=0o755)
        (folder / "bin").chmod(0o755)
        (folder / "bin/edgefaced").touch()
        (folder / "bin/edgefaced").chmod(0o755)
        yield folder


def test_software_must_be_open_to_a_user_that_is_not_root(open_folder: Path) -> None:
    file = open_folder / "bin/edgefaced"
    assert shut_for_others([file, file.parent, open_folder / "absent"]) is None
    file.chmod(0o750)
    assert shut_for_others([SYSTEM, file]) == file
    file.chmod(0o755)
    open_folder.chmod(0o711)
    assert shut_for_others([file]) is None, "to pass through, reading a folder is not needed"
    assert shut_for_others([open_folder]) == open_folder
    open_folder.chmod(0o700)
    assert shut_for_others([file]) == open_folder


def test_a_shut_part_is_said_with_the_command_that_opens_it() -> None:
    shut = next(p for p in (Path("/etc/shadow"), Path("/etc/sudoers")) if p.exists())
    (obstacle,) = of_the_software(Software(SYSTEM, (SYSTEM, shut)))
    assert str(obstacle) == f"{shut} cannot be read by others than its owner (chmod o+rX {shut})"


def test_the_configured_pack_must_be_where_the_service_looks(tmp_path: Path) -> None:
    place = Place(tmp_path)
    models = tmp_path / "var/lib/edgefaced/models"
    (obstacle,) = of_the_models(place, TINY, SYSTEM)
    assert obstacle.message == f"model pack tiny is not installed in {models}"
    assert obstacle.hint == f"`sudo EDGEFACED_MODELS_DIR={models} {SYSTEM} models pull tiny`"
    here = Installation(models.parent)
    here.pull(here.know(TinyPack()))
    assert list(of_the_models(place, TINY, SYSTEM)) == []
    next(models.glob("prepared/**/*.onnx")).unlink()
    (obstacle,) = of_the_models(place, TINY, SYSTEM)
    assert "incomplete" in obstacle.message


def test_on_this_machine_the_way_out_is_the_plain_command() -> None:
    if Place().files.state_dir.exists() and os.geteuid() != 0:
        pytest.skip("edgefaced has folders on this machine, which only root may read")
    nothing = Settings.model_validate({"models": {"pack": "a-pack-nobody-has"}})
    (obstacle,) = of_the_models(Place(), nothing, SYSTEM)
    assert obstacle.hint == f"`sudo {SYSTEM} models pull a-pack-nobody-has`"
