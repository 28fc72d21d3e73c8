"""Pulling: what is missing is fetched and prepared, what is there is left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from archives import tarred
from installation import Installation
from tiny_pack import TinyPack, digest

from edgefaced.errors import DownloadError, ModelContractError, StorageError
from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.manifest import PackManifest, parse_manifest
from edgefaced.models.pull import pull
from edgefaced.models.runtime import Runtime
from edgefaced.models.state import PackState, pack_state
from edgefaced.types import Role


def files(here: Installation) -> dict[str, int]:
    """Every file of the store and when it was written."""
    return {str(p): p.stat().st_mtime_ns for p in here.store.folder.rglob("*") if p.is_file()}


def test_a_pulled_pack_can_be_loaded(here: Installation, pack: PackManifest) -> None:
    assert pack_state(pack, here.store) is PackState.ABSENT
    (pulled,) = here.pull(pack)
    assert [f.file for f in pulled.fetched] == ["detector.onnx", "embedder.onnx"]
    assert [p.anew for p in pulled.prepared] == [True, True]
    assert pack_state(pack, here.store) is PackState.INSTALLED
    for role, size in ((Role.DETECTOR, 32), (Role.EMBEDDER, 112)):
        assert here.store.prepared(pack.of_role(role), size).optimised


def test_a_second_pull_does_nothing(here: Installation, pack: PackManifest) -> None:
    here.pull(pack)
    before = files(here)

    def no_configuration() -> PipConfig:
        raise AssertionError("nothing is to be fetched")

    (pulled,) = pull([pack], here.store, here.workshop, no_configuration, here.told)
    assert not pulled.changed
    assert files(here) == before


def test_nothing_of_the_way_is_left(here: Installation, pack: PackManifest) -> None:
    here.pull(pack)
    names = {Path(name).name for name in files(here)}
    assert not any("partial" in name or name.endswith(".gz") for name in names)


@pytest.mark.parametrize(
    "change", [{"prepare_version": -1}, {"onnxruntime": "0.1"}, {"machine": "another"}]
)
def test_what_another_runtime_prepared_is_prepared_again_from_what_is_here(
    here: Installation, pack: PackManifest, change: dict[str, str | int]
) -> None:
    here.pull(pack)
    for spec in pack.model:
        path = here.store.layout.prepared(spec) / "prepared.json"
        record = here.store.record(spec).model_copy(update=change)
        path.write_text(record.model_dump_json())
    here.wheels.joinpath("tiny-1.0.tar.gz").unlink()
    (pulled,) = here.pull(pack)
    assert pulled.fetched == ()
    assert [p.anew for p in pulled.prepared] == [True, True]


def test_preparing_again_leaves_no_old_files(here: Installation, pack: PackManifest) -> None:
    here.pull(pack)
    folder = here.store.layout.prepared(pack.model[0])
    (folder / "portable-32-old.onnx").write_bytes(b"old")
    (folder / "prepared.json").unlink()
    here.pull(pack)
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("damage", [b"", b"x" * 10])
def test_a_damaged_original_is_fetched_again(
    here: Installation, pack: PackManifest, damage: bytes
) -> None:
    here.pull(pack)
    here.store.layout.original(pack.model[0]).write_bytes(damage)
    assert pack_state(pack, here.store) is PackState.INCOMPLETE
    (pulled,) = here.pull(pack)
    assert [f.file for f in pulled.fetched] == ["detector.onnx"]
    assert pack_state(pack, here.store) is PackState.INSTALLED


def test_a_damaged_prepared_file_is_made_again(here: Installation, pack: PackManifest) -> None:
    here.pull(pack)
    spec = pack.model[1]
    file = here.store.record(spec).variants[0].optimised
    path = here.store.layout.prepared(spec) / file.file
    path.write_bytes(bytes(file.size_bytes))
    (pulled,) = here.pull(pack)
    assert [p.anew for p in pulled.prepared] == [False, True]
    assert here.store.prepared(spec, 112).optimised


def test_a_pack_that_nobody_delivers_is_not_installed(
    here: Installation, pack: PackManifest
) -> None:
    here.wheels.joinpath("tiny-1.0.tar.gz").write_bytes(b"something else")
    with pytest.raises(DownloadError, match=r"detector\.onnx"):
        here.pull(pack)
    assert pack_state(pack, here.store) is PackState.ABSENT


def test_a_network_that_breaks_its_manifest_is_not_installed(
    here: Installation, tiny: TinyPack
) -> None:
    swapped = TinyPack(detector=tiny.embedder, embedder=tiny.detector)
    pack = here.know(swapped)
    with pytest.raises(ModelContractError, match="tiny-detector"):
        here.pull(pack)
    assert pack_state(pack, here.store) is PackState.ABSENT


def test_nothing_of_the_archive_is_run(here: Installation, tmp_path: Path, tiny: TinyPack) -> None:
    proof = tmp_path / "ran"
    code = f"open({str(proof)!r}, 'w')".encode()
    members = {f"tiny-1.0/{name}": data for name, data in tiny.files.items()}
    sdist = tarred({"tiny-1.0/setup.py": code, "tiny-1.0/tiny/__init__.py": code, **members})
    text = tiny.manifest.replace(digest(tiny.sdist), digest(sdist))
    here.wheels.mkdir()
    (here.wheels / "tiny-1.0.tar.gz").write_bytes(sdist)
    here.pull(parse_manifest(text.encode(), "it"))
    assert not proof.exists()


def with_photograph(tiny: TinyPack, picture: bytes) -> str:
    return (
        tiny.manifest
        + f"""
[[proof]]
file = "face.png"
size_bytes = {len(picture)}
sha256 = "{digest(picture)}"
credit = "nobody"
[[proof.source]]
kind = "pypi"
project = "tiny"
file = "pictures.tar.gz"
sha256 = "{digest(tarred({"face.png": picture}))}"
member = "face.png"
"""
    )


@pytest.fixture(scope="module")
def picture() -> bytes:
    pixels = np.random.default_rng(5).integers(0, 255, (90, 120, 3), np.uint8)
    return cv2.imencode(".png", pixels)[1].tobytes()


def test_networks_are_proved_on_the_photographs_of_the_pack(
    here: Installation, tiny: TinyPack, picture: bytes
) -> None:
    here.know(tiny)
    (here.wheels / "pictures.tar.gz").write_bytes(tarred({"face.png": picture}))
    pack = parse_manifest(with_photograph(tiny, picture).encode(), "it")
    (pulled,) = here.pull(pack)
    proofs = {v.proof.kind for p in pulled.prepared for v in p.record.variants}
    assert proofs == {"photographs"}
    assert here.store.photograph(pack.proof[0]) == picture


def test_without_its_photographs_a_pack_is_proved_on_a_pattern(
    here: Installation, tiny: TinyPack, picture: bytes
) -> None:
    here.know(tiny)
    pack = parse_manifest(with_photograph(tiny, picture).encode(), "it")
    (pulled,) = here.pull(pack)
    assert pulled.missing_photographs == ("face.png",)
    proofs = {v.proof.kind for p in pulled.prepared for v in p.record.variants}
    assert proofs == {"pattern"}
    assert pack_state(pack, here.store) is PackState.INSTALLED


def test_a_store_that_may_not_be_written_is_said(here: Installation, pack: PackManifest) -> None:
    here.store.layout.lock.mkdir()
    with pytest.raises(StorageError, match=r"\.lock"):
        here.pull(pack)


def test_a_network_prepared_elsewhere_is_loaded_in_its_portable_form(
    here: Installation, pack: PackManifest
) -> None:
    here.pull(pack)
    runtime = here.runtime
    for other in (
        Runtime(runtime.prepare_version, "0.1", runtime.machine),
        Runtime(runtime.prepare_version, runtime.onnxruntime, "another"),
    ):
        loaded = replace(here.store, runtime=other).prepared(pack.model[0], 32)
        portable = here.store.record(pack.model[0]).variants[0].portable
        assert not loaded.optimised
        assert digest(loaded.data) == portable.sha256
