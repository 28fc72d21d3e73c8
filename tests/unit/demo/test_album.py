"""The album's own words, and getting what it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from installation import Installation
from tiny_pack import TinyPack

from edgefaced.demo.credits import CHANGES, credit_lines, credits_page
from edgefaced.demo.install import install, is_installed, missing_bytes, with_album
from edgefaced.demo.pictures import Portrait, read_album
from edgefaced.errors import DownloadError
from edgefaced.models.catalogue import find_pack
from edgefaced.models.fetch.pip_config import PipConfig

NOWHERE = PipConfig(no_index=True, retries=0)


def test_every_portrait_can_be_cut_out() -> None:
    album = read_album()
    for portrait in (album.person_a, album.person_b, album.stranger_1, album.stranger_2):
        (face,) = portrait.boxes
        assert len(portrait.outline) >= 12
        xs, ys = zip(*portrait.outline, strict=True)
        assert min(xs) <= face.left < face.right <= max(xs)
        assert min(ys) <= face.top < face.bottom <= max(ys)
        assert max(ys) in [y for _, y in portrait.outline[len(portrait.outline) // 4 :]]


def test_the_group_has_29_faces_each_in_its_own_place() -> None:
    boxes = read_album().crowd.boxes
    assert len(boxes) == len({box.centre for box in boxes}) == 29
    assert all(60 < box.width < 120 and 80 < box.height < 140 for box in boxes)


def test_enrolment_and_scenes_share_no_photograph() -> None:
    album = read_album()
    enrolled = {album.person_a_enrolled.sha256, album.person_b_enrolled.sha256}
    played = [p for p in (album.person_a, album.person_b, album.crowd) if isinstance(p, Portrait)]
    assert not enrolled & {portrait.picture.sha256 for portrait in played}
    assert len({spec.sha256 for spec in album.files}) == len(album.files) == 8


def test_the_reference_pack_brings_the_photographs_along() -> None:
    """The same pins, so that nothing is fetched or kept twice."""
    album, manifest = read_album(), find_pack("reference")
    both = with_album(manifest, album)
    assert [spec.file for spec in both.proof[len(manifest.proof) :]] == ["CREDITS.md"]
    assert {spec.sha256 for spec in album.files} <= {spec.sha256 for spec in both.proof}


def test_a_download_counts_each_archive_once(tmp_path: Path) -> None:
    store = Installation(tmp_path).store
    album, manifest = read_album(), find_pack("reference")
    archives = {spec.source[0].sha256: spec.source[0].size_bytes for spec in manifest.model}
    assert len(archives) == 2
    assert missing_bytes(manifest, album, store) == sum(size or 0 for size in archives.values())
    assert not is_installed(manifest, album, store)


def test_without_a_network_the_error_says_the_way_out(tmp_path: Path) -> None:
    place = Installation(tmp_path)
    manifest, album = find_pack("reference"), read_album()
    with pytest.raises(DownloadError, match="PIP_FIND_LINKS"):
        install(manifest, album, place.store, place.workshop, lambda: NOWHERE, place.told)
    assert not is_installed(manifest, album, place.store)


def test_a_pack_alone_is_not_enough(tmp_path: Path) -> None:
    place = Installation(tmp_path)
    manifest, album = place.know(TinyPack()), read_album()
    with pytest.raises(DownloadError, match=r"person_a_1\.jpg"):
        install(manifest, album, place.store, place.workshop, place.pip_config, place.told)
    assert missing_bytes(manifest, album, place.store) > 0
    assert not is_installed(manifest, album, place.store)


def test_credits_name_every_photograph_and_what_was_done(tmp_path: Path) -> None:
    album = read_album()
    lines = credit_lines(album)
    assert len(lines) == len(set(lines)) == 7
    assert all("public domain" in line or "CC BY" in line for line in lines)
    page = credits_page(album, Installation(tmp_path).store)
    assert all(line in page for line in (*lines, CHANGES))
