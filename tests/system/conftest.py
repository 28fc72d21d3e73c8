"""Fixtures of the system tests: one real pack for the whole run, and a disk that is soon full."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_in_pack import import_stand_in


@pytest.fixture(scope="session")
def stand_in_models(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with the pack of `stand_in_pack`, prepared once; read only."""
    return import_stand_in(shared_data, tmp_path_factory.mktemp("stand-in-models"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    if shutil.which("mount") is None:
        pytest.skip("no mount here: apt-get install mount")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", str(disk)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("this machine does not let us mount a small file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)
