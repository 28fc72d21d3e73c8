"""Root's commands at the service's gallery use its key, wherever systemd loads it from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgefaced.config.credential import NAME
from edgefaced.gallery.store import Gallery

SHIPPED = Path(__file__).resolve().parents[2] / "systemd" / "edgefaced.service"

AS_ROOT = """
set -e
for place in var/lib etc/systemd/system run; do
  mount --bind "$0/$place" "/$place"
done
exec "$@"
"""
"""A machine of this process alone: its state, its units and its run folder are the tree's."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("only root may mount")
    if not Path("/etc/systemd/system").is_dir():
        pytest.skip("this machine has no folder for units")
    for place in ("var/lib/edgefaced", "etc/systemd/system", "run", "keys"):
        (tmp_path / place).mkdir(parents=True)
    if as_root(tmp_path, "true").returncode:
        pytest.skip("no mounts in this sandbox")
    shutil.copy(SHIPPED, tmp_path / "etc/systemd/system")
    return tmp_path


def as_root(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EDGEFACED_")}
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", AS_ROOT, str(tree), *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def edgefaced(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return as_root(tree, sys.executable, "-m", "edgefaced", *words)


def test_a_list_finds_the_key_where_the_service_has_it(tree: Path) -> None:
    key = tree / "keys" / "door.key"
    Gallery.open(tree / "var/lib/edgefaced/gallery.db", key, create=True).close()

    lost = edgefaced(tree, "list")
    assert lost.returncode == 6
    assert "/var/lib/edgefaced/gallery.key is missing" in lost.stderr

    # While the service runs, its credential is where systemd has laid it.
    running = tree / "run/credentials/edgefaced.service" / NAME
    running.parent.mkdir(parents=True)
    shutil.copy(key, running)
    running.chmod(0o400)
    assert edgefaced(tree, "list").returncode == 0
    running.unlink()

    # While it does not, the unit's drop-in says what it is loaded from.
    drop_ins = tree / "etc/systemd/system/edgefaced.service.d"
    drop_ins.mkdir()
    (drop_ins / "key.conf").write_text(f"[Service]\nLoadCredential={NAME}:{key}\n")
    shown = edgefaced(tree, "config", "show")
    assert f"key_file: {key}" in shown.stdout
    assert edgefaced(tree, "list").returncode == 0

    # One that only systemd can decrypt is awaited, and no other is made in its place.
    (drop_ins / "key.conf").write_text(
        f"[Service]\nLoadCredentialEncrypted={NAME}:/etc/credstore.encrypted/{NAME}\n"
    )
    awaited = edgefaced(tree, "list")
    assert awaited.returncode == 6
    assert "systemctl start edgefaced" in awaited.stderr
    assert awaited.stderr.count("\n") == 1
