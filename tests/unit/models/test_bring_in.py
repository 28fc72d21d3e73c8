"""Importing: files are known by their hash, wherever they lie and whatever they are called."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from archives import tarred, zipped
from installation import Installation
from tiny_pack import TinyPack, digest

from edgefaced.errors import ManifestError, ModelDamaged, ModelMissing
from edgefaced.models.bring_in import Imported, bring_in
from edgefaced.models.catalogue import find_pack
from edgefaced.models.hand_out import hand_out
from edgefaced.models.manifest import PackManifest
from edgefaced.models.state import PackState, pack_state


@pytest.fixture
def stick(tmp_path: Path) -> Path:
    folder = tmp_path / "stick"
    folder.mkdir()
    return folder


def bring(here: Installation, path: Path, pack: str | None = None) -> list[Imported]:
    return bring_in(path, pack, here.store, here.workshop, here.told)


def test_files_are_found_whatever_their_names(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    (stick / "deep" / "er").mkdir(parents=True)
    (stick / "deep" / "er" / "x.bin").write_bytes(tiny.detector)
    (stick / "IMG_0001.JPG").write_bytes(tiny.embedder)
    (result,) = bring(here, stick)
    assert result.found == ("detector.onnx", "embedder.onnx")
    assert result.missing == ()
    assert pack_state(pack, here.store) is PackState.INSTALLED
    assert here.store.prepared(pack.model[0], 32).optimised


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("pack_up", [zipped, tarred], ids=["zip", "tar.gz"])
def test_archives_are_looked_into(
    here: Installation,
    pack: PackManifest,
    tiny: TinyPack,
    stick: Path,
    pack_up: object,
    nested: bool,
) -> None:
    assert callable(pack_up)
    archive = stick / "models.download"
    archive.write_bytes(pack_up({f"a/b/{n}.tmp": data for n, data in tiny.files.items()}))
    bring(here, stick if nested else archive)
    assert pack_state(pack, here.store) is PackState.INSTALLED


def test_what_is_still_missing_is_said_and_can_come_later(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    (stick / "one").write_bytes(tiny.detector)
    (result,) = bring(here, stick / "one")
    assert result.missing == ("embedder.onnx",)
    assert pack_state(pack, here.store) is PackState.ABSENT
    (stick / "two").write_bytes(tiny.embedder)
    (result,) = bring(here, stick / "two")
    assert result.missing == ()
    assert pack_state(pack, here.store) is PackState.INSTALLED


def test_a_file_of_the_right_size_alone_is_not_taken(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    (stick / "detector.onnx").write_bytes(bytes(len(tiny.detector)))
    (stick / "embedder.onnx").write_bytes(tiny.embedder)
    (result,) = bring(here, stick)
    assert result.missing == ("detector.onnx",)
    assert not here.store.layout.original(pack.model[0]).exists()


def test_an_import_can_be_repeated(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    tiny.write_files(stick)
    bring(here, stick)
    (result,) = bring(here, stick)
    assert result.missing == ()
    assert [p.anew for p in result.prepared] == [False, False]


def test_nothing_to_find_is_an_error(here: Installation, pack: PackManifest, stick: Path) -> None:
    (stick / "notes.txt").write_text("nothing here")
    with pytest.raises(ModelMissing, match="no network of any known pack"):
        bring(here, stick)
    with pytest.raises(ModelMissing, match="there is no"):
        bring(here, stick / "gone")


def test_one_pack_may_be_asked_for(here: Installation, tiny: TinyPack, stick: Path) -> None:
    here.know(tiny)
    here.know(TinyPack(name="twin"))
    tiny.write_files(stick)
    assert [r.manifest.name for r in bring(here, stick, "twin")] == ["twin"]
    assert [r.manifest.name for r in bring(here, stick)] == ["tiny", "twin"]
    with pytest.raises(ModelMissing, match="'nobody'"):
        bring(here, stick, "nobody")


def test_the_pack_that_is_asked_for_is_reported_even_where_nothing_of_it_is_there(
    here: Installation, pack: PackManifest, stick: Path
) -> None:
    (result,) = bring(here, stick, "tiny")
    assert result.found == ()
    assert result.missing == ("detector.onnx", "embedder.onnx")


@pytest.mark.parametrize("archived", [False, True])
def test_a_pack_may_bring_its_own_manifest(
    here: Installation, tiny: TinyPack, stick: Path, archived: bool
) -> None:
    if archived:
        members = {"tiny/tiny.toml": tiny.manifest.encode(), **tiny.files}
        (stick / "tiny.zip").write_bytes(zipped(members))
    else:
        tiny.write_files(stick)
        (stick / "any name.toml").write_text(tiny.manifest)
    bring(here, stick)
    pack = find_pack("tiny", (here.store.layout.packs,))
    assert pack_state(pack, here.store) is PackState.INSTALLED


def test_other_toml_files_are_none_of_our_business(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    tiny.write_files(stick)
    (stick / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (stick / "broken.toml").write_text("[[[")
    (stick / "huge.toml").write_bytes(b"#" * (2 << 20))
    (stick / "binary.toml").write_bytes(b"\xff\xfe")
    bring(here, stick)
    assert [p.name for p in here.store.layout.packs.iterdir()] == ["tiny.toml"]


def test_a_manifest_with_a_fault_is_said(here: Installation, tiny: TinyPack, stick: Path) -> None:
    text = tiny.manifest.replace('layout = "NCHW"', 'layout = "CHWN"')
    (stick / "tiny.toml").write_text(text)
    with pytest.raises(ManifestError, match="layout"):
        bring(here, stick)
    assert not here.store.layout.packs.exists()


def test_a_shipped_pack_is_not_replaced(here: Installation, tiny: TinyPack, stick: Path) -> None:
    other = TinyPack(name="reference")
    other.write_files(stick)
    (stick / "reference.toml").write_text(other.manifest)
    with pytest.raises(ModelMissing):
        bring(here, stick)
    assert any("shipped pack" in line for line in here.told.lines)
    assert not here.store.layout.packs.exists()


def test_a_newer_manifest_of_an_own_pack_is_taken(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    tiny.write_files(stick)
    newer = tiny.manifest.replace("Two tiny networks", "Two tiny networks, described anew")
    (stick / "tiny.toml").write_text(newer)
    bring(here, stick)
    assert find_pack("tiny", (here.store.layout.packs,)).summary.endswith("anew")


def test_a_broken_archive_among_others_is_passed_over(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    tiny.write_files(stick / "z")
    (stick / "a.zip").write_bytes(zipped(tiny.files)[:-40])
    rotten = bytearray(zipped({"x": tiny.detector, "y.toml": b"manifest = 1"}))
    rotten[100] ^= 0xFF
    rotten[rotten.index(b"y.toml") + 8] ^= 0xFF
    (stick / "b.zip").write_bytes(rotten)
    bring(here, stick)
    assert pack_state(pack, here.store) is PackState.INSTALLED
    assert any("a.zip" in line for line in here.told.lines)
    with pytest.raises(ModelDamaged, match=r"a\.zip"):
        bring(here, stick / "a.zip")


def test_what_is_no_regular_file_is_passed_over(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    os.mkfifo(stick / "a pipe")
    (stick / "dangling").symlink_to("nowhere")
    (stick / "loop").symlink_to(stick)
    tiny.write_files(stick)
    bring(here, stick)
    assert pack_state(pack, here.store) is PackState.INSTALLED


def test_packs_may_call_one_file_differently(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    text = TinyPack(name="twin").manifest.replace("detector.onnx", "found.onnx")
    (here.store.layout.packs / "twin.toml").write_text(text)
    twin = find_pack("twin", (here.store.layout.packs,))
    tiny.write_files(stick)
    bring(here, stick)
    for one in (pack, twin):
        assert here.store.original(one.model[0]) == tiny.detector


def test_what_one_machine_exports_another_imports(
    here: Installation, pack: PackManifest, tmp_path: Path
) -> None:
    here.pull(pack)
    file = tmp_path / "tiny.tar"
    members = hand_out(pack, here.store, file)
    assert members == ("tiny.toml", "detector.onnx", "embedder.onnx")
    there = Installation(tmp_path / "there")
    bring(there, file)
    moved = find_pack("tiny", (there.store.layout.packs,))
    assert moved == pack
    assert pack_state(moved, there.store) is PackState.INSTALLED


def test_photographs_travel_with_a_pack(here: Installation, tiny: TinyPack, tmp_path: Path) -> None:
    picture = cv2.imencode(".png", np.full((40, 40, 3), 90, np.uint8))[1].tobytes()
    proof = f"""
[[proof]]
file = "face.png"
size_bytes = {len(picture)}
sha256 = "{digest(picture)}"
credit = "nobody"
source = []
"""
    folder = tiny.write_files(tmp_path / "files")
    (folder / "tiny.toml").write_text(tiny.manifest + proof)
    (folder / "a photograph").write_bytes(picture)
    (imported,) = bring(here, folder)
    assert {v.proof.kind for p in imported.prepared for v in p.record.variants} == {"photographs"}
    assert "face.png" in hand_out(imported.manifest, here.store, tmp_path / "tiny.tar")


def test_a_pack_that_is_not_here_cannot_be_exported(
    here: Installation, pack: PackManifest, tmp_path: Path
) -> None:
    with pytest.raises(ModelMissing):
        hand_out(pack, here.store, tmp_path / "tiny.tar")
    assert not (tmp_path / "tiny.tar").exists()


def test_no_file_of_the_way_is_left(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    tiny.write_files(stick)
    bring(here, stick)
    assert [p for p in here.store.layout.downloads.rglob("*") if p.is_file()] == []


def test_a_file_that_is_there_twice_is_taken_once(
    here: Installation, pack: PackManifest, tiny: TinyPack, stick: Path
) -> None:
    tiny.write_files(stick / "a")
    tiny.write_files(stick / "b")
    bring(here, stick)
    assert len([line for line in here.told.lines if line.startswith("found ")]) == 2
