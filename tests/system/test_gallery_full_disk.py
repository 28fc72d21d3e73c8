"""A disk that is full: one clear error, nothing torn, nothing committed lost."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

import gallery_peer
import pytest

from edgefaced.errors import StorageError
from edgefaced.gallery.check import check_gallery
from edgefaced.gallery.export_file import write_export
from edgefaced.gallery.following import LOOK_AGAIN_SECONDS, FollowingIndex
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery


def new(seed: int) -> list[NewTemplate]:
    return [NewTemplate(gallery_peer.embedding(seed), bytes(20_000))]


def fill(gallery: Gallery) -> int:
    """Enrols until there is no room; how many came in."""
    for n in range(1000):
        with suppress(StorageError):
            gallery.enrol(f"Person {n}", new(n))
            continue
        with pytest.raises(StorageError, match=r"disk") as caught:
            gallery.enrol(f"Person {n}", new(n))
        assert "\n" not in str(caught.value)
        return n
    raise AssertionError("the disk has no end")


def test_a_full_disk_loses_nothing(small_disk: Path) -> None:
    places = small_disk / "gallery.db", small_disk / "gallery.key"
    (small_disk / "ballast").write_bytes(bytes(1_000_000))
    with Gallery.open(*places, create=True) as gallery:
        count = fill(gallery)
        assert count > 3
        assert len(gallery.people()) == count
        assert gallery.changes_since(0).revision == count, "what failed left no trace"
        assert check_gallery(gallery).faults == ()
        with pytest.raises(StorageError):
            write_export(small_disk / "export", bytes(2_000_000))
        assert {f.name for f in small_disk.iterdir()} == {
            "ballast",
            "gallery.db",
            "gallery.db-wal",
            "gallery.db-shm",
            "gallery.key",
        }, "no drafts are left"
    with Gallery.open(*places) as gallery:
        assert len(gallery.people()) == count
        (small_disk / "ballast").unlink()
        removals = [gallery.remove(person.id).scrubbed for person in gallery.people()[3:]]
        assert not removals[0], "there is no room for a second copy of a large gallery"
        assert removals[-1]
        gallery.enrol("After", new(5000))
        assert check_gallery(gallery).faults == ()
        assert len(gallery.people()) == 4


def test_a_gallery_cannot_begin_on_a_full_disk(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space"):
        ballast.write_bytes(bytes(5_000_000))
    places = small_disk / "gallery.db", small_disk / "gallery.key"
    with pytest.raises(StorageError):
        Gallery.open(*places, create=True)
    assert not places[0].exists()
    ballast.unlink()
    with Gallery.open(*places, create=True) as gallery:
        assert gallery.people() == []


def test_a_gallery_on_a_full_disk_can_be_read_and_is_followed_when_there_is_room_again(
    small_disk: Path,
) -> None:
    places = small_disk / "gallery.db", small_disk / "gallery.key"
    with Gallery.open(*places, create=True) as gallery:
        gallery.enrol("Ann", new(1))
    ballast = small_disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with Gallery.open(*places) as gallery:
        assert [person.name for person in gallery.people()] == ["Ann"]
        with pytest.raises(StorageError):
            gallery.enrol("Bob", new(2))
    seconds = 0.0
    model = gallery_peer.embedding(1).model_id
    index = FollowingIndex(lambda: Gallery.open(*places), model, "exact", now=lambda: seconds)
    assert index.size == 1
    ballast.unlink()
    with Gallery.open(*places) as gallery:
        gallery.enrol("Bob", new(2))
    seconds += LOOK_AGAIN_SECONDS
    assert index.refresh()
    assert index.size == 2
    with Gallery.open(*places) as gallery:
        gallery.enrol("Eve", new(3))
    assert index.refresh(), "at once from now on"
    assert index.size == 3
    index.close()


def test_a_file_that_may_not_grow_loses_nothing(tmp_path: Path) -> None:
    """The same through a limit on files, where nothing can be mounted."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Gallery.open(tmp_path / "gallery.db", tmp_path / "gallery.key", create=True) as gallery:
        gallery.enrol("Ann", new(1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
        try:
            count = fill(gallery)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert len(gallery.people()) == count + 1
        assert check_gallery(gallery).faults == ()
        gallery.enrol("Bob", new(2))
        assert len(gallery.people()) == count + 2
