"""What is on this machine: handed out with its hash checked, or an error with the way out."""

from __future__ import annotations

from pathlib import Path

import onnxruntime as ort
import pytest
from installation import Installation
from tiny_pack import TinyPack, digest

from edgefaced.errors import ModelDamaged, ModelMissing
from edgefaced.models.manifest import PackManifest
from edgefaced.models.runtime import runtime_of_this_process
from edgefaced.models.store import ModelStore
from edgefaced.models.verification import verify


@pytest.fixture
def installed(here: Installation, pack: PackManifest) -> PackManifest:
    here.pull(pack)
    return pack


def test_an_original_is_what_its_maker_published(
    here: Installation, installed: PackManifest, tiny: TinyPack
) -> None:
    assert [here.store.original(spec) for spec in installed.model] == [tiny.detector, tiny.embedder]


def test_what_is_not_here_is_said_with_the_command_that_gets_it(
    here: Installation, pack: PackManifest
) -> None:
    for ask in (
        lambda: here.store.original(pack.model[0]),
        lambda: here.store.prepared(pack.model[0], 32),
    ):
        with pytest.raises(ModelMissing, match="tiny-detector") as caught:
            ask()
        assert caught.value.hint == "`edgefaced models pull tiny`"


def test_a_network_of_several_packs_names_them_all(here: Installation, tiny: TinyPack) -> None:
    pack = here.know(tiny)
    here.know(TinyPack(name="twin"))
    with pytest.raises(ModelMissing) as caught:
        here.store.original(pack.model[0])
    assert "tiny, twin" in caught.value.hint


def test_a_broken_manifest_does_not_get_in_the_way_of_a_hint(
    here: Installation, pack: PackManifest
) -> None:
    (here.store.layout.packs / "broken.toml").write_text("?")
    with pytest.raises(ModelMissing) as caught:
        here.store.original(pack.model[0])
    assert caught.value.hint == "`edgefaced models pull tiny`"


def test_a_network_that_is_here_but_not_prepared_is_said(
    here: Installation, installed: PackManifest
) -> None:
    (here.store.layout.prepared(installed.model[0]) / "prepared.json").unlink()
    with pytest.raises(ModelMissing, match="not prepared"):
        here.store.prepared(installed.model[0], 32)


def test_a_size_that_was_not_prepared_is_said_with_those_that_were(
    here: Installation, installed: PackManifest
) -> None:
    with pytest.raises(ModelMissing, match="480x480") as caught:
        here.store.prepared(installed.model[0], 480)
    assert "32" in caught.value.hint


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"\0" + data[1:]])
def test_not_one_damaged_byte_is_handed_out(
    here: Installation, installed: PackManifest, damage: object
) -> None:
    assert callable(damage)
    spec = installed.model[0]
    original = here.store.layout.original(spec)
    variant = here.store.record(spec).variants[0]
    optimised = here.store.layout.prepared(spec) / variant.optimised.file
    for path in (original, optimised):
        path.write_bytes(damage(path.read_bytes()))
    for ask in (lambda: here.store.original(spec), lambda: here.store.prepared(spec, 32)):
        with pytest.raises(ModelDamaged, match="sha256") as caught:
            ask()
        assert "pull tiny" in caught.value.hint
    assert len(verify(installed, here.store).faults) == 2


def test_a_prepared_file_that_vanished_is_said(here: Installation, installed: PackManifest) -> None:
    spec = installed.model[0]
    variant = here.store.record(spec).variants[0]
    (here.store.layout.prepared(spec) / variant.optimised.file).unlink()
    with pytest.raises(ModelDamaged, match="missing"):
        here.store.prepared(spec, 32)
    assert verify(installed, here.store).faults[0].endswith("is missing")


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"record": 2}', "\x00"])
def test_a_record_that_is_none_is_damaged(
    here: Installation, installed: PackManifest, text: str
) -> None:
    record = here.store.layout.prepared(installed.model[0]) / "prepared.json"
    record.write_text(text)
    with pytest.raises(ModelDamaged, match=r"prepared\.json"):
        here.store.prepared(installed.model[0], 32)
    assert verify(installed, here.store).faults


def test_a_record_that_names_a_file_elsewhere_is_damaged(
    here: Installation, installed: PackManifest
) -> None:
    path = here.store.layout.prepared(installed.model[0]) / "prepared.json"
    path.write_text(path.read_text().replace('"file": "', '"file": "../'))
    with pytest.raises(ModelDamaged):
        here.store.prepared(installed.model[0], 32)


def test_a_whole_pack_verifies(here: Installation, installed: PackManifest) -> None:
    result = verify(installed, here.store)
    assert result.faults == ()
    assert result.files == 6


def test_a_pack_that_is_not_here_does_not_verify(here: Installation, pack: PackManifest) -> None:
    faults = verify(pack, here.store).faults
    assert len(faults) == 4
    assert any("detector.onnx is missing" in fault for fault in faults)


def test_the_runtime_of_this_process_is_the_default(
    here: Installation, installed: PackManifest
) -> None:
    assert ModelStore(here.store.folder).prepared(installed.model[0], 32).optimised
    assert runtime_of_this_process().onnxruntime == ort.__version__


def test_what_is_handed_out_runs(here: Installation, installed: PackManifest) -> None:
    model = here.store.prepared(installed.model[1], 112)
    session = ort.InferenceSession(model.data, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    assert (given.name, given.shape, given.type) == ("image", [1, 112, 112, 3], "tensor(uint8)")


def test_a_folder_in_place_of_a_file_is_damage(
    here: Installation, installed: PackManifest, tmp_path: Path
) -> None:
    path = here.store.layout.original(installed.model[0])
    path.unlink()
    path.mkdir()
    with pytest.raises(ModelDamaged):
        here.store.original(installed.model[0])
    assert digest(here.store.original(installed.model[1])) == installed.model[1].sha256
