"""Kept pictures can be read by who has the gallery's key, each as its own event's only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgefaced.errors import GalleryDamaged
from edgefaced.evidence.folder import Kept
from edgefaced.evidence.sealing import opened, sealed
from edgefaced.gallery.picture_keys import picture_keys, picture_keys_or_first
from edgefaced.gallery.rekey import rotate_key
from edgefaced.gallery.store import Gallery

JPEG = b"\xff\xd8 a picture \xff\xd9" * 20
KEYS = (bytes(range(32)),)
KEPT = Kept(3, 1, "event", "ann")


@pytest.fixture
def gallery(tmp_path: Path) -> Iterator[Gallery]:
    with Gallery.open(tmp_path / "gallery.db", tmp_path / "gallery.key", create=True) as made:
        yield made


def test_it_comes_back_as_it_was_and_nothing_of_it_can_be_read() -> None:
    content = sealed(JPEG, KEPT, KEYS)
    assert opened(content, KEPT, KEYS) == JPEG
    assert b"picture" not in content
    assert content != sealed(JPEG, KEPT, KEYS), "never the same nonce"


@pytest.mark.parametrize(
    "other",
    [
        replace(KEPT, event_id="another"),
        replace(KEPT, person_id="bob"),
        replace(KEPT, person_id=None),
        replace(KEPT, number=4),
    ],
)
def test_it_is_no_other_events_picture(other: Kept) -> None:
    with pytest.raises(GalleryDamaged, match="altered, or is another event's"):
        opened(sealed(JPEG, KEPT, KEYS), other, KEYS)


@pytest.mark.parametrize("place", [0, 6, 9, 12, 40, -1])
def test_a_changed_byte_is_noticed(place: int) -> None:
    content = bytearray(sealed(JPEG, KEPT, KEYS))
    content[place] ^= 1
    with pytest.raises(GalleryDamaged, match="event event"):
        opened(bytes(content), KEPT, KEYS)


@pytest.mark.parametrize("length", [0, 5, 9, 20, 37, -1])
def test_a_part_of_it_is_nothing(length: int) -> None:
    with pytest.raises(GalleryDamaged):
        opened(sealed(JPEG, KEPT, KEYS)[:length], KEPT, KEYS)


def test_the_key_lies_sealed_in_the_gallery(gallery: Gallery, tmp_path: Path) -> None:
    assert picture_keys(gallery) == ()
    keys = picture_keys_or_first(gallery)
    assert picture_keys_or_first(gallery) == picture_keys(gallery) == keys
    for file in tmp_path.iterdir():
        assert keys[0] not in file.read_bytes()
        assert keys[0].hex().encode() not in file.read_bytes()


def test_the_gallerys_next_key_opens_them_too_and_another_seals(gallery: Gallery) -> None:
    before = picture_keys_or_first(gallery)
    old = sealed(JPEG, KEPT, before)
    assert rotate_key(gallery)
    after = picture_keys(gallery)
    assert after[:1] == before
    assert len(after) == 2
    assert opened(old, KEPT, after) == JPEG
    with pytest.raises(GalleryDamaged, match="no key of this gallery"):
        opened(sealed(JPEG, KEPT, after), KEPT, before)


def test_who_never_kept_a_picture_has_no_key_for_one(gallery: Gallery) -> None:
    assert rotate_key(gallery)
    assert picture_keys(gallery) == ()
