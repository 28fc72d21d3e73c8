"""A gallery that is locked, damaged, replaced or without its key makes nobody known for then."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgefaced.errors import (
    EdgefacedError,
    GalleryBusy,
    GalleryDamaged,
    GalleryError,
    GalleryMissing,
    KeyMissing,
    KeyWrong,
    ModelMismatch,
    RecordDamaged,
)
from edgefaced.gallery.following import LOCKED_SECONDS, TRY_AGAIN_SECONDS, FollowingIndex
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.types import F32, Embedding

MODEL = "sface"


def unit(seed: int) -> F32:
    vector = np.random.default_rng(seed).normal(size=64)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def template(seed: int) -> list[NewTemplate]:
    return [NewTemplate(Embedding(unit(seed), MODEL))]


class Followed:
    """A gallery of Ann (1) and Bob (2), an index that follows it, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.path, self.key = folder / "gallery.db", folder / "gallery.key"
        with self.open(create=True) as gallery:
            self.ann = gallery.enrol("Ann", template(1)).id
            self.bob = gallery.enrol("Bob", template(2)).id
        self.seconds = 0.0
        self.index = FollowingIndex(self.open, MODEL, "exact", now=lambda: self.seconds)

    def open(self, *, create: bool = False) -> Gallery:
        return Gallery.open(self.path, self.key, create=create)

    def known(self) -> set[str]:
        """Who is found by the own template."""
        found = set()
        for seed in (1, 2, 3):
            match = self.index.search(Embedding(unit(seed), MODEL))
            if match is not None and match.best.score > 0.99:
                found.add(match.best.person_id)
        return found

    def later(self, seconds: float = TRY_AGAIN_SECONDS) -> bool:
        """Refreshes when it would try again."""
        self.seconds += seconds
        return self.index.refresh()

    def fails(self, kind: type[EdgefacedError], seconds: float = TRY_AGAIN_SECONDS) -> None:
        with pytest.raises(kind) as caught:
            self.later(seconds)
        assert type(caught.value) is kind


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    followed = Followed(tmp_path)
    yield followed
    followed.index.close()


def test_changes_of_others_are_taken_over(followed: Followed) -> None:
    assert followed.known() == {followed.ann, followed.bob}
    assert not followed.later()
    with followed.open() as gallery:
        gallery.remove(followed.ann)
        eve = gallery.enrol("Eve", template(3)).id
    assert followed.later()
    assert followed.known() == {followed.bob, eve}
    assert followed.index.size == 2


def test_a_gallery_that_is_replaced_is_opened_anew(followed: Followed, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(followed.path, backup)
    with followed.open() as gallery:
        gallery.remove(followed.bob)
    followed.later()
    backup.replace(followed.path)
    for beside in ("-wal", "-shm"):
        followed.path.with_name(followed.path.name + beside).unlink(missing_ok=True)
    followed.fails(GalleryError)
    assert followed.known() == set()
    assert followed.index.size == 0
    assert followed.later()
    assert followed.known() == {followed.ann, followed.bob}, "as the copy has it"


def test_a_gallery_that_is_gone_makes_nobody_known_until_it_is_back(
    followed: Followed, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    followed.path.rename(kept)
    followed.fails(GalleryError)
    for _ in range(3):
        followed.fails(GalleryMissing)
        assert followed.known() == set()
    assert not followed.path.exists(), "nobody has begun a new one"
    kept.rename(followed.path)
    assert followed.later()
    assert followed.known() == {followed.ann, followed.bob}


def test_whoever_deletes_the_key_means_everybody(followed: Followed, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    followed.key.rename(kept)
    for _ in range(2):
        followed.fails(KeyMissing)
        assert followed.known() == set()
    followed.key.write_bytes(bytes(32))
    followed.key.chmod(0o600)
    followed.fails(KeyWrong)
    assert followed.known() == set()
    kept.replace(followed.key)
    assert followed.later()
    assert followed.known() == {followed.ann, followed.bob}


def test_a_file_that_is_damaged_makes_nobody_known_until_it_is_mended(followed: Followed) -> None:
    with followed.open() as gallery:
        gallery.enrol("Eve", template(3))  # so that there is something to read
    whole = followed.path.read_bytes()
    log = followed.path.with_name(followed.path.name + "-wal")
    written = log.read_bytes()
    followed.path.write_bytes(b"not a database at all".ljust(len(whole), b"."))
    log.write_bytes(bytes(len(written)))
    for _ in range(2):
        followed.fails(GalleryDamaged)
        assert followed.known() == set()
    followed.path.write_bytes(whole)
    log.write_bytes(written)
    assert followed.later()
    assert {followed.ann, followed.bob} <= followed.known()


def spoil(followed: Followed, person_id: str) -> None:
    """Alters one person's template, as a worn-out card does, and tells readers of a change."""
    with followed.open() as gallery, gallery.writing() as db:
        db.execute(
            "UPDATE templates SET vector = zeroblob(length(vector)) WHERE person_id = ?",
            (person_id,),
        )
        db.execute("INSERT INTO changes (person_id, kind) VALUES (?, 'templates')", (person_id,))


def test_a_damaged_record_concerns_its_person_only(followed: Followed) -> None:
    spoil(followed, followed.ann)
    for _ in range(3):
        followed.fails(RecordDamaged, 0.0)
        assert followed.known() == {followed.bob}
    with followed.open() as gallery:
        eve = gallery.enrol("Eve", template(3)).id
    followed.fails(RecordDamaged)
    assert followed.known() == {followed.bob, eve}, "others come and go meanwhile"
    with followed.open() as gallery:
        gallery.remove(followed.ann)
        ann = gallery.enrol("Ann", template(1)).id
    assert followed.later()
    assert followed.known() == {ann, followed.bob, eve}


def test_a_damaged_record_at_the_start_keeps_nobody_else_out(followed: Followed) -> None:
    spoil(followed, followed.ann)
    followed.index.close()
    followed.index = FollowingIndex(followed.open, MODEL, "exact", now=lambda: followed.seconds)
    assert followed.known() == {followed.bob}
    followed.fails(RecordDamaged)
    assert followed.known() == {followed.bob}


def test_a_gallery_moved_to_another_model_makes_nobody_known(followed: Followed) -> None:
    with followed.open() as gallery:
        gallery.remove(followed.ann, followed.bob)
        other = Embedding(unit(1), "w600k")
        gallery.enrol("Ann", [NewTemplate(other)])
    for _ in range(2):
        followed.fails(ModelMismatch)
        assert followed.known() == set()
    with pytest.raises(ModelMismatch):
        FollowingIndex(followed.open, MODEL, "exact")


class Contended(Gallery):
    """A gallery that another process locks now and then."""

    locked = False

    def version(self) -> tuple[int, int]:
        if self.locked:
            raise GalleryBusy("somebody has it")
        return super().version()


def test_a_lock_is_bridged_for_a_while_and_then_nobody_is_known(followed: Followed) -> None:
    def open_contended() -> Gallery:
        if Contended.locked:
            raise GalleryBusy("somebody has it")
        return Contended.open(followed.path, followed.key)

    followed.index.close()
    Contended.locked = True
    followed.index = FollowingIndex(open_contended, MODEL, "exact", now=lambda: followed.seconds)
    assert followed.known() == set(), "locked at the start"
    followed.fails(GalleryBusy)
    Contended.locked = False
    assert followed.later()
    Contended.locked = True
    followed.fails(GalleryBusy)
    assert followed.known() == {followed.ann, followed.bob}, "a short lock locks nobody out"
    followed.fails(GalleryBusy, 0.0)
    followed.fails(GalleryBusy, LOCKED_SECONDS)
    assert followed.known() == set(), "somebody may have been removed meanwhile"
    Contended.locked = False
    assert followed.later()
    assert followed.known() == {followed.ann, followed.bob}


LOCKER = """
import fcntl, sys
with open(sys.argv[1], "r+b") as shm:
    # The bytes of the log's index by which SQLite says who reads and who writes.
    fcntl.lockf(shm, fcntl.LOCK_EX, 8, 120)
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_process_that_locks_everybody_out_is_no_damage(followed: Followed) -> None:
    """SQLite tries for ten seconds to come by."""
    shm = followed.path.with_name(followed.path.name + "-shm")
    with subprocess.Popen(
        [sys.executable, "-c", LOCKER, str(shm)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        followed.fails(GalleryBusy)
        assert followed.known() == {followed.ann, followed.bob}
    assert not followed.later()
