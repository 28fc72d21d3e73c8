"""A gallery on a disk that cannot be written: read whole, never changed, never stale."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.types import Embedding

SEALED = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
"""A mount of this process alone: the folder, read only."""


def sealed(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs `edgefaced` where the folder is read only."""
    program = [sys.executable, "-m", "edgefaced", *command]
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", SEALED, str(folder), *program],
        env={**os.environ, "EDGEFACED_STATE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def state(tmp_path: Path) -> Path:
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("only root may mount")
    folder = tmp_path / "state"
    folder.mkdir()
    probe = ["unshare", "--mount", "sh", "-c", SEALED, str(folder), "true"]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("no mounts in this sandbox")
    with opened(folder, create=True) as gallery:
        enrol(gallery, "Ann")
    return folder


def opened(folder: Path, *, create: bool = False) -> Gallery:
    return Gallery.open(folder / "gallery.db", folder / "gallery.key", create=create)


def enrol(gallery: Gallery, name: str) -> None:
    vector = np.zeros(4, np.float32)
    vector[0] = 1
    gallery.enrol(name, [NewTemplate(Embedding(vector, "toy"))])


def test_a_list_on_a_read_only_disk(state: Path) -> None:
    done = sealed(state, "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Ann" in done.stdout
    assert sorted(p.name for p in state.iterdir()) == ["gallery.db", "gallery.key"]


def test_what_would_change_it_is_one_line_and_changes_nothing(state: Path) -> None:
    before = (state / "gallery.db").read_bytes()
    done = sealed(state, "rename", "Ann", "Bob")
    assert done.returncode == 9
    assert "readonly" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (state / "gallery.db").read_bytes() == before


def test_changes_in_the_log_of_a_running_writer_are_seen(state: Path) -> None:
    with opened(state) as gallery:
        enrol(gallery, "Bob")
        assert (state / "gallery.db-wal").stat().st_size
        done = sealed(state, "list")
    assert done.returncode == 0
    assert "Ann" in done.stdout
    assert "Bob" in done.stdout


def test_changes_in_a_log_that_cannot_be_read_are_never_passed_over(state: Path) -> None:
    """A copy of a gallery with its log: without the log Bob would be missing, or still be there."""
    copy = state.with_name("copy")
    with opened(state) as gallery:
        enrol(gallery, "Bob")
        copy.mkdir()
        for name in ("gallery.db", "gallery.db-wal", "gallery.key"):
            shutil.copy(state / name, copy)
    done = sealed(copy, "list")
    assert done.returncode == 9
    assert "gallery.db-wal" in done.stderr
    assert "open it once where it can be written" in done.stderr
    with opened(copy) as whole:
        assert len(whole.people()) == 2
    assert "Bob" in sealed(copy, "list").stdout


def test_an_interrupted_removal_is_left_for_a_writer(state: Path) -> None:
    with closing(sqlite3.connect(state / "gallery.db")) as db, db:
        db.execute("INSERT INTO meta (key, value) VALUES ('scrub', x'00')")
    done = sealed(state, "list")
    assert (done.returncode, done.stderr) == (0, "")
    with opened(state) as gallery:
        assert gallery.scrub(only_if_pending=True)


READER = """
import sys
from pathlib import Path
from edgefaced.errors import GalleryBusy
from edgefaced.gallery.store import Gallery
folder = Path(sys.argv[1])
with Gallery.open(folder / "gallery.db", folder / "gallery.key") as gallery:
    print(len(gallery.people()), flush=True)
    sys.stdin.readline()
    try:
        gallery.people()
    except GalleryBusy as error:
        print(error.message, flush=True)
"""


def test_a_change_under_a_reader_that_cannot_lock_is_noticed(state: Path) -> None:
    script = [sys.executable, "-c", READER, str(state)]
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", SEALED, str(state), *script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "1\n"
        with opened(state) as gallery:
            enrol(gallery, "Bob")
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert "was changed while it was read" in reader.stdout.readline()
    assert reader.returncode == 0
