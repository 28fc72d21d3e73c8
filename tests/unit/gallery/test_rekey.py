"""Exchanging the key, whatever moment it is interrupted at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgefaced.errors import GalleryError, KeyMissing, KeyWrong
from edgefaced.gallery.check import check_gallery
from edgefaced.gallery.lock import draft_of
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.rekey import rotate_key
from edgefaced.gallery.store import Gallery
from edgefaced.storage import files, keyfile

Template = Callable[..., NewTemplate]


def test_everything_is_sealed_anew(
    gallery: Gallery, path: Path, key_file: Path, template: Template, tmp_path: Path
) -> None:
    ann = gallery.enrol("Ann", [template(1, b"png"), template(2)], consent="signed")
    old = key_file.read_bytes()
    assert rotate_key(gallery)
    assert key_file.read_bytes() != old
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert not draft_of(key_file).exists()
    assert gallery.find("ANN") == ann
    assert check_gallery(gallery).faults == ()
    gallery.close()
    with Gallery.open(path, key_file) as again:
        assert again.people() == [ann]
        assert len(again.templates("sface").vectors) == 2
    (tmp_path / "old").touch(mode=0o600)
    (tmp_path / "old").write_bytes(old)
    with pytest.raises(KeyWrong):
        Gallery.open(path, tmp_path / "old")


def test_an_open_connection_takes_over_the_new_key(
    gallery: Gallery, other: Gallery, template: Template
) -> None:
    ann = gallery.enrol("Ann", [template(1)])
    assert rotate_key(gallery)
    assert other.name_of(ann.id) == "Ann"
    other.enrol("Bob", [template(2)])
    assert rotate_key(other)
    assert {p.name for p in gallery.people()} == {"Ann", "Bob"}
    assert check_gallery(gallery).faults == ()


def test_power_lost_before_the_commit(
    gallery: Gallery, path: Path, key_file: Path, template: Template
) -> None:
    gallery.enrol("Ann", [template(1)])
    files.publish(draft_of(key_file), bytes(range(32)))
    gallery.close()
    with Gallery.open(path, key_file) as again:
        assert [p.name for p in again.people()] == ["Ann"]
        assert rotate_key(again), "and the draft does not stand in the way"
        assert [p.name for p in again.people()] == ["Ann"]
    assert not draft_of(key_file).exists()


def test_a_copy_of_the_old_key_that_a_killed_process_left_goes_with_it(
    gallery: Gallery, key_file: Path
) -> None:
    for name in (".gallery.key.0123456789abcdef", ".gallery.key.next.0123456789abcdef"):
        key_file.with_name(name).write_bytes(key_file.read_bytes())
    rotate_key(gallery)
    assert {p.name for p in key_file.parent.iterdir() if "key" in p.name} == {key_file.name}


@pytest.mark.parametrize("old_key", ["there", "gone"])
def test_power_lost_after_the_commit(
    gallery: Gallery, path: Path, key_file: Path, template: Template, old_key: str
) -> None:
    gallery.enrol("Ann", [template(1)])
    old = key_file.read_bytes()
    rotate_key(gallery)
    gallery.close()
    # As if the draft had not yet been moved.
    key_file.rename(draft_of(key_file))
    if old_key == "there":
        files.publish(key_file, old)
    with Gallery.open(path, key_file) as again:
        assert [p.name for p in again.people()] == ["Ann"]
    assert not draft_of(key_file).exists()
    with Gallery.open(path, key_file) as again:
        assert [p.name for p in again.people()] == ["Ann"]


def test_a_draft_of_another_gallery_does_not_help(
    gallery: Gallery, path: Path, key_file: Path
) -> None:
    gallery.close()
    key_file.unlink()
    files.publish(draft_of(key_file), bytes(range(32)))
    with pytest.raises(KeyWrong):
        Gallery.open(path, key_file)
    draft_of(key_file).unlink()
    with pytest.raises(KeyMissing):
        Gallery.open(path, key_file)


def test_a_credential_is_not_ours_to_change(path: Path, template: Template) -> None:
    credential = path.parent / "credentials" / keyfile.CREDENTIAL
    files.publish(credential, bytes(range(32)))
    with Gallery.open(path, credential, create=True) as gallery:
        gallery.enrol("Ann", [template(1)])
        with pytest.raises(GalleryError, match="systemd credential"):
            rotate_key(gallery)
        assert [p.name for p in gallery.people()] == ["Ann"]
    assert credential.read_bytes() == bytes(range(32))
