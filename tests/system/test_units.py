"""The service set up for real in a tree, and systemd's own judgement of what lies there then."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from edgefaced.service import units
from edgefaced.service.place import Accounts, Place

EXPOSURE = 2.0
"""Highest that `systemd-analyze security` may say, of 10."""

EXECUTABLE = Path(sysconfig.get_path("scripts"), "edgefaced")


def needs(*tools: str) -> pytest.MarkDecorator:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    lacks = f"not here: {', '.join(missing)} (apt-get install systemd udev procps)"
    return pytest.mark.skipif(bool(missing), reason=lacks)


class Tree:
    """A folder that will be a machine; it remembers owners also where the test is not root."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self._memory = folder / "owners"
        self._memory.touch()

    def edgefaced(self, *words: str, code: int = 0) -> str:
        return self._as_root(
            [sys.executable, "-m", "edgefaced", *words, "--root", str(self.root)], code
        )

    def chmod(self, path: Path, mode: int) -> None:
        self._as_root(["chmod", f"{mode:o}", str(path)], 0)

    def _as_root(self, command: list[str], code: int) -> str:
        if os.geteuid() != 0:
            if shutil.which("fakeroot") is None:
                pytest.skip(
                    "neither root nor fakeroot (apt-get install fakeroot): who gives files away?"
                )
            command = ["fakeroot", "-i", str(self._memory), "-s", str(self._memory), *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout

    def steps(self, *words: str) -> list[dict[str, str]]:
        body: dict[str, Any] = json.loads(self.edgefaced(*words, "--json"))
        assert body["ok"] is True
        steps: list[dict[str, str]] = body["steps"]
        return steps

    def content(self) -> dict[str, tuple[str, bytes]]:
        """Mode and bytes of everything but the account files, which systemd-sysusers writes."""
        return {
            str(path.relative_to(self.root)): (
                stat.filemode(path.lstat().st_mode),
                path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
            )
            for path in sorted(self.root.rglob("*"))
            if path.parent != self.root / "etc"
        }


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


SETS_UP = needs("systemd-sysusers", "systemd-tmpfiles")


@SETS_UP
def test_installing_twice_is_installing_once(tree: Tree) -> None:
    planned = tree.steps("install-service", "--dry-run")
    assert list(tree.root.iterdir()) == [], "a dry run writes nothing"
    first = tree.steps("install-service")
    assert first == [{**s, "state": s["state"].replace("to do", "done")} for s in planned]
    assert {"done", "as it was"} == {step["state"] for step in first}
    content = tree.content()
    assert {step["state"] for step in tree.steps("install-service")} == {"as it was"}
    assert tree.content() == content


@SETS_UP
def test_folders_and_files_have_their_owners_and_modes(tree: Tree) -> None:
    tree.edgefaced("install-service", "--user", "door")
    place, accounts = Place(tree.root), Accounts(tree.root)
    door, group = accounts.user_id("door"), accounts.group_id("door")
    assert door not in {None, 0}
    expected = {
        place.files.state_dir: (0o750, door, group),
        place.files.models_dir: (0o750, door, group),
        place.runtime: (0o750, door, group),
        place.files.config_file.parent: (0o750, 0, group),
        place.files.config_file: (0o640, 0, group),
        place.unit: (0o644, 0, 0),
        place.rules: (0o644, 0, 0),
        place.sysusers: (0o644, 0, 0),
        place.tmpfiles: (0o644, 0, 0),
    }
    for path, (mode, user_id, group_id) in expected.items():
        status = path.stat()
        assert stat.S_IMODE(status.st_mode) == mode, path
        if os.geteuid() == 0:
            assert (status.st_uid, status.st_gid) == (user_id, group_id), path
    assert str(place.wanted.readlink()) == "/etc/systemd/system/edgefaced.service"
    assert "User=door" in place.unit.read_text()
    assert f"ExecStart={EXECUTABLE} run" in place.unit.read_text()


@SETS_UP
def test_an_update_replaces_the_unit_and_keeps_the_configuration(tree: Tree) -> None:
    tree.edgefaced("install-service")
    place = Place(tree.root)
    place.unit.write_text("[Service]\nExecStart=/old\n")
    place.files.config_file.write_text('[metrics]\nport = 9464\naddress = "0.0.0.0"\n')
    done = {step["what"] for step in tree.steps("install-service") if step["state"] == "done"}
    assert done == {f"write {place.unit}", f"write {place.reach}"}
    assert "port = 9464" in place.files.config_file.read_text()
    tree.chmod(place.files.config_file, 0o600)
    tree.edgefaced("install-service")
    assert stat.S_IMODE(place.files.config_file.stat().st_mode) == 0o640
    assert "IPAddressAllow=any" in place.reach.read_text()


@SETS_UP
def test_a_broken_configuration_is_said_before_anything_is_done(tree: Tree) -> None:
    config = Place(tree.root).files.config_file
    config.parent.mkdir(parents=True)
    config.write_text("[recognition]\ntarget_fpir = 7\n")
    body = json.loads(tree.edgefaced("install-service", "--json", code=3))
    assert "recognition.target_fpir" in body["error"]["message"]
    assert [p.name for p in tree.root.rglob("*") if p.is_file()] == ["edgefaced.toml"]


@SETS_UP
def test_what_was_done_before_a_failure_is_said(tree: Tree) -> None:
    (tree.root / "etc/udev").mkdir(parents=True)
    (tree.root / "etc/udev/rules.d").touch()  # no folder
    body = json.loads(tree.edgefaced("install-service", "--json", code=12))
    assert "rules.d" in body["error"]["message"]
    assert body["steps"][-1]["state"] == "as it was"
    assert body["steps"][0]["state"] == "done"


@SETS_UP
def test_uninstalling_keeps_people_until_a_purge(tree: Tree) -> None:
    tree.edgefaced("install-service")
    place = Place(tree.root)
    place.files.gallery_file.write_bytes(b"templates")
    place.files.key_file.write_bytes(b"k" * 32)
    body = json.loads(tree.edgefaced("uninstall", "--json"))
    assert body["kept"] == [str(place.files.state_dir), str(place.files.config_file.parent)]
    left = {str(p.relative_to(tree.root)) for p in tree.root.rglob("*") if p.is_file()}
    assert left - {"etc/passwd", "etc/group", "etc/shadow", "etc/gshadow", "etc/.pwd.lock"} == {
        "etc/edgefaced/edgefaced.toml",
        "var/lib/edgefaced/gallery.db",
        "var/lib/edgefaced/gallery.key",
    }
    assert {step["state"] for step in tree.steps("uninstall")} == {"as it was"}
    tree.edgefaced("uninstall", "--purge", code=2)  # nobody is there to be asked
    assert place.files.key_file.exists()
    said = tree.edgefaced("uninstall", "--purge", "--yes")
    assert f"done: overwrite {place.files.key_file}" in said
    assert not place.files.state_dir.exists()
    assert not place.files.config_file.parent.exists()


@SETS_UP
@needs("systemd-analyze", "kill")
def test_systemd_has_nothing_to_say_against_the_installed_unit(tree: Tree) -> None:
    tree.edgefaced("install-service")
    unit = Place(tree.root).unit
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    # A key or a value that systemd does not know is only "ignored", with exit code 0.
    assert "edgefaced" not in done.stderr, done.stderr
    assert done.returncode == 0


@SETS_UP
@needs("systemd-analyze")
@pytest.mark.parametrize(
    "network",
    [
        "",
        '[metrics]\nport = 9464\naddress = "127.0.0.1"\n',
        '[mqtt]\nhost = "192.0.2.7"\n',
        '[webhook]\nurl = "https://example.org/hook"\n',
    ],
)
def test_the_service_is_exposed_to_little(tree: Tree, network: str) -> None:
    place = Place(tree.root)
    place.files.config_file.parent.mkdir(parents=True)
    place.files.config_file.write_text(network)
    tree.edgefaced("install-service")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", f"--root={tree.root}", place.unit.name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    verdict = done.stdout.strip().splitlines()[-1]
    assert float(verdict.split(": ")[1].split()[0]) <= EXPOSURE, verdict
    families = "Service may allocate Internet sockets"
    assert (families in done.stdout) is bool(network)


@needs("systemd-sysusers")
def test_the_shipped_account_is_understood(tmp_path: Path) -> None:
    file = units.shipped_folder() / "edgefaced.sysusers.conf"
    done = subprocess.run(
        ["systemd-sysusers", "--dry-run", f"--root={tmp_path}", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in (units.USER, *units.GROUPS):
        assert f"'{name}'" in done.stderr + done.stdout


@needs("udevadm")
def test_the_shipped_rules_are_understood() -> None:
    rules = units.shipped_folder() / "60-edgefaced.rules"
    words = ["udevadm", "verify", "--resolve-names=never", str(rules)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "Unknown command" in done.stderr:
        pytest.skip("this udevadm cannot verify rules (before 254)")
    assert done.returncode == 0, done.stdout + done.stderr
