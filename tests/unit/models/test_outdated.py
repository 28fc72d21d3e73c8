"""What another version prepared is said, and what no manifest asks for any more goes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import Installation
from tiny_pack import TinyPack

import edgefaced
from edgefaced.cli.main import run
from edgefaced.errors import StorageError
from edgefaced.models.catalogue import catalogue, find_pack
from edgefaced.models.manifest import PackManifest
from edgefaced.models.state import installed_packs, outdated

NOBODY = 65534


@pytest.fixture
def installed(here: Installation, pack: PackManifest) -> PackManifest:
    here.pull(pack)
    return pack


def prepared_by(here: Installation, pack: PackManifest, version: int) -> None:
    spec = pack.model[0]
    path = here.store.layout.prepared(spec) / "prepared.json"
    record = here.store.record(spec).model_copy(update={"prepare_version": version})
    path.write_text(record.model_dump_json())


@pytest.mark.parametrize(("version", "which"), [(1, "an older"), (10**6, "a newer")])
def test_another_versions_files_are_said_in_one_line(
    here: Installation,
    installed: PackManifest,
    own_places: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    version: int,
    which: str,
) -> None:
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(here.store.folder))
    assert outdated(installed, here.store) is None
    prepared_by(here, installed, version)
    line = outdated(installed, here.store)
    assert line == (
        f"tiny was prepared by {which} version of edgefaced: `edgefaced models pull tiny`"
    )
    for command in (["list"], ["list", "--json"], ["verify", "tiny"]):
        assert run(["models", *command]) == 0
        assert capsys.readouterr().err == f"{line}\n"
    here.pull(installed)
    assert outdated(installed, here.store) is None


def test_a_pack_that_is_not_here_is_not_outdated(here: Installation, pack: PackManifest) -> None:
    assert outdated(pack, here.store) is None


def superseded(here: Installation, pack: PackManifest) -> Path:
    """What an earlier manifest's contract had made of the detector."""
    mine = here.store.layout.prepared(pack.model[0])
    old = mine.with_name("0123456789abcdef")
    shutil.copytree(mine, old)
    return old


def test_what_no_manifest_asks_for_any_more_goes_with_the_next_pull(
    here: Installation, installed: PackManifest
) -> None:
    old = superseded(here, installed)
    here.pull(installed)
    assert not old.exists()
    assert here.store.prepared(installed.model[0], 32).data


def test_what_another_pack_asks_for_stays(here: Installation, installed: PackManifest) -> None:
    twin = here.know(TinyPack(name="twin"))
    here.pull(twin)
    before = {p for p in (here.store.folder / "prepared").rglob("*") if p.is_file()}
    here.pull(installed)
    assert {p for p in (here.store.folder / "prepared").rglob("*") if p.is_file()} == before


def test_nothing_goes_while_a_manifest_cannot_be_read(
    here: Installation, installed: PackManifest
) -> None:
    old = superseded(here, installed)
    (here.store.layout.packs / "broken.toml").write_text("?")
    here.pull(installed)
    assert old.exists()


def test_a_folder_that_cannot_be_read_is_not_an_empty_one(here: Installation) -> None:
    layout = here.store.layout
    for folder in (layout.packs, layout.installed):
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.touch()
    with pytest.raises(StorageError, match=str(layout.packs)):
        catalogue((layout.packs,))
    with pytest.raises(StorageError, match=str(layout.installed)):
        installed_packs(layout)
    with pytest.raises(StorageError):
        find_pack("ours", (layout.packs,))
    assert find_pack("reference", (layout.packs,)).name == "reference"


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A models folder whose own packs nobody may look at."""
    shipped = Path(edgefaced.__file__).parent
    ways = (shipped, *shipped.parents, *Path(sys.executable).parents)
    if os.geteuid() == 0 and not all(folder.stat().st_mode & 0o001 for folder in ways):
        pytest.skip("this checkout is closed to other users: nobody would not find edgefaced")
    models = tmp_path / "models"
    (models / "packs").mkdir(parents=True)
    (models / "packs").chmod(0)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o111)
    yield models
    (models / "packs").chmod(0o700)


AS_NOBODY = f"""
import os, sys
from edgefaced.cli import models
from edgefaced.cli.main import run
if os.geteuid() == 0:  # root may look everywhere
    os.setgid({NOBODY})
    os.setuid({NOBODY})
sys.exit(run(["models", "list"]))
"""


def test_own_packs_of_mode_000_are_an_error_line(closed: Path) -> None:
    environment = {**os.environ, "EDGEFACED_MODELS_DIR": str(closed), "HOME": str(closed)}
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 9
    assert done.stdout == ""
    assert f"{closed / 'packs'}: Permission denied" in done.stderr
    assert done.stderr.count("\n") == 1
