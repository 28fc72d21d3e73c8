"""Compiled networks: imported whole or not at all, read with their hashes, told of everywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from archives import tarred, zipped
from compiled_pack import Conversion, compiled_detector, compiled_embedder, golden_file
from installation import Installation
from tiny_pack import TinyPack

from edgefaced.cli.main import run
from edgefaced.errors import ManifestError, ModelDamaged, ModelMissing
from edgefaced.models.bring_in import Imported, bring_in
from edgefaced.models.compiled import COMPILED_FILE
from edgefaced.models.compiled_files import compiled_models, file_of, golden_of
from edgefaced.models.hand_out import hand_out
from edgefaced.models.manifest import PackManifest
from edgefaced.models.removal import remove
from edgefaced.models.state import PackState, pack_state
from edgefaced.models.verification import verify


@pytest.fixture
def conversion(tiny: TinyPack) -> Conversion:
    return Conversion((compiled_detector(tiny), compiled_embedder(tiny)))


def bring(here: Installation, path: Path, pack: str | None = None) -> list[Imported]:
    return bring_in(path, pack, here.store, here.workshop, here.told)


@pytest.mark.parametrize("pack_up", [None, zipped, tarred], ids=["folder", "zip", "tar.gz"])
def test_what_a_converter_wrote_is_installed(
    here: Installation,
    pack: PackManifest,
    conversion: Conversion,
    tmp_path: Path,
    pack_up: object,
) -> None:
    place = conversion.write(tmp_path / "stick")
    if callable(pack_up):
        place = tmp_path / "tiny-rk3588-int8.tar"
        place.write_bytes(pack_up({f"tiny/{n}": data for n, data in conversion.files.items()}))
    (result,) = bring(here, place)
    assert [m.id for m in result.compiled] == ["tiny-detector", "tiny-embedder"]
    detector, embedder = pack.model
    found = here.store.compiled(detector, "rk3588", 32)
    assert found.data == found.path.read_bytes() == conversion.networks[0].data
    np.testing.assert_array_equal(found.golden.image, conversion.networks[0].image)
    np.testing.assert_array_equal(
        found.golden.outputs["box"], conversion.networks[0].outputs["box"]
    )
    assert here.store.compiled(embedder, "rk3588", 112).model.needs.runtime == "2.3.0"
    assert verify(pack, here.store).files >= 4


def test_compiled_networks_may_come_before_and_without_the_originals(
    here: Installation, pack: PackManifest, tiny: TinyPack, conversion: Conversion, tmp_path: Path
) -> None:
    (result,) = bring(here, conversion.write(tmp_path / "stick"))
    assert result.found == ()
    assert pack_state(pack, here.store) is PackState.ABSENT
    tiny.write_files(tmp_path / "stick")
    (result,) = bring(here, tmp_path / "stick")
    assert pack_state(pack, here.store) is PackState.INSTALLED
    assert len(result.compiled) == 2


def test_the_pack_may_come_with_them(
    here: Installation, tiny: TinyPack, conversion: Conversion, tmp_path: Path
) -> None:
    other = replace(conversion, more={"tiny.toml": tiny.manifest.encode()})
    (result,) = bring(here, other.write(tmp_path / "stick"))
    assert result.manifest.name == "tiny"
    assert len(result.compiled) == 2


def test_an_unknown_original_is_refused(
    here: Installation, pack: PackManifest, conversion: Conversion, tmp_path: Path
) -> None:
    stranger = replace(conversion.networks[0], original=b"nobody's")
    both = Conversion((conversion.networks[1], stranger))
    with pytest.raises(ModelMissing, match="no known pack has"):
        bring(here, both.write(tmp_path / "stick"))
    assert not compiled_models(here.store.layout, pack.model[1]), "all or nothing"


def test_a_file_that_is_not_there_installs_nothing(
    here: Installation, pack: PackManifest, conversion: Conversion, tmp_path: Path
) -> None:
    stick = conversion.write(tmp_path / "stick")
    damaged = stick / conversion.networks[1].names[0]
    damaged.write_bytes(bytes(damaged.stat().st_size))
    with pytest.raises(ModelDamaged, match=r"embedder-rk3588-112\.rknn, and no file beside it"):
        bring(here, stick)
    assert not any(compiled_models(here.store.layout, spec) for spec in pack.model)
    assert not (here.store.layout.downloads / "compiled").exists()


def test_a_record_that_does_not_fit_its_pack_is_refused(
    here: Installation, pack: PackManifest, conversion: Conversion, tmp_path: Path
) -> None:
    odd = replace(conversion.networks[1], outputs={"scores": np.zeros((1, 3), np.float32)})
    with pytest.raises(ManifestError, match="its pack promises"):
        bring(here, Conversion((odd,)).write(tmp_path / "stick"))


@pytest.mark.parametrize(
    ("golden", "said"),
    [
        (b"not an npz", "golden|npz"),
        (golden_file({"image": np.zeros((1, 112, 112, 3), np.uint8)}), "vector"),
        (golden_file({"image": np.zeros((1, 8, 8, 3), np.uint8), "vector": np.zeros(1)}), "image"),
        (
            golden_file(
                {"image": np.zeros((1, 112, 112, 3), np.uint8), "vector": np.zeros((1, 16))}
            ),
            "float64",
        ),
        (
            golden_file(
                {"image": np.zeros((1, 112, 112, 3), np.uint8), "vector": np.array([{}], object)}
            ),
            "allow_pickle",
        ),
    ],
)
def test_a_golden_that_proves_nothing_is_refused(
    here: Installation,
    pack: PackManifest,
    conversion: Conversion,
    tmp_path: Path,
    golden: bytes,
    said: str,
) -> None:
    odd = replace(conversion.networks[1], golden=golden)
    with pytest.raises(ModelDamaged, match=said):
        bring(here, Conversion((odd,)).write(tmp_path / "stick"))


def test_a_second_import_replaces_the_first_of_its_target_and_size(
    here: Installation, pack: PackManifest, tiny: TinyPack, tmp_path: Path
) -> None:
    old, kept = compiled_detector(tiny), compiled_detector(tiny, 64)
    new = compiled_detector(tiny, data=b"better", precision="fp16")
    bring(here, Conversion((old, kept)).write(tmp_path / "old"))
    bring(here, Conversion((new,)).write(tmp_path / "new"))
    layout, spec = here.store.layout, pack.model[0]
    assert here.store.compiled(spec, "rk3588", 32).data == b"better"
    assert here.store.compiled(spec, "rk3588", 64).data == kept.data
    folder = layout.compiled(spec.sha256) / "rk3588"
    assert len(list(folder.glob("*.rknn"))) == 2, "the old file is gone"


def test_what_is_not_there_is_said_with_what_is(
    here: Installation, pack: PackManifest, conversion: Conversion, tmp_path: Path
) -> None:
    with pytest.raises(ModelMissing, match=r"not compiled for rk3588 at 32x32 \(") as missing:
        here.store.compiled(pack.model[0], "rk3588", 32)
    assert "models import" in missing.value.hint
    bring(here, conversion.write(tmp_path / "stick"))
    with pytest.raises(ModelMissing, match="at 64x64; there is 32"):
        here.store.compiled(pack.model[0], "rk3588", 64)


@pytest.mark.parametrize("which", ["file", "golden", "record"])
@pytest.mark.parametrize("harm", ["changed", "gone"])
def test_damage_is_found_and_never_loaded(
    here: Installation,
    pack: PackManifest,
    conversion: Conversion,
    tmp_path: Path,
    which: str,
    harm: str,
) -> None:
    bring(here, conversion.write(tmp_path / "stick"))
    layout, spec = here.store.layout, pack.model[0]
    (model,) = compiled_models(layout, spec)
    path = {
        "file": file_of(layout, model),
        "golden": golden_of(layout, model),
        "record": layout.compiled(spec.sha256) / "rk3588" / "32.json",
    }[which]
    if harm == "changed":
        path.write_bytes(b"x" * path.stat().st_size)
    else:
        path.unlink()
    with pytest.raises(ModelMissing if (which, harm) == ("record", "gone") else ModelDamaged):
        here.store.compiled(spec, "rk3588", 32)
    if (which, harm) != ("record", "gone"):
        assert any(str(path) in fault for fault in verify(pack, here.store).faults)


def test_removing_the_pack_removes_them(
    here: Installation, pack: PackManifest, conversion: Conversion, tmp_path: Path
) -> None:
    bring(here, conversion.write(tmp_path / "stick"))
    remove(pack, here.store, here.told)
    assert not (here.store.folder / "compiled").exists()
    with pytest.raises(ModelMissing):
        remove(pack, here.store, here.told)


def test_the_command_line_tells_of_them(
    here: Installation,
    pack: PackManifest,
    conversion: Conversion,
    own_places: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stick = conversion.write(own_places / "stick")
    assert run(["models", "import", str(stick), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["packs"]
    assert [m["target"] for m in told["compiled"]] == ["rk3588", "rk3588"]
    assert run(["models", "import", str(stick)]) == 0
    assert "tiny-detector for rk3588" in capsys.readouterr().out
    assert run(["models", "list"]) == 0
    assert "for rk3588: 32x32 int8" in capsys.readouterr().out
    assert run(["models", "show", "tiny"]) == 0
    shown = capsys.readouterr().out
    assert "compiled for rk3588, 32x32 int8, by 2.3.2, needs librknnrt 2.3.0" in shown
    assert "mean cosine 0.9980" in shown
    assert run(["models", "show", "tiny", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)["pack"]
    assert body["models"][0]["compiled"][0]["precision"] == "int8"


def test_a_prepared_device_hands_its_compiled_networks_on(
    here: Installation, pack: PackManifest, conversion: Conversion, tmp_path: Path
) -> None:
    here.pull(pack)
    bring(here, conversion.write(tmp_path / "stick"))
    file = tmp_path / "tiny.tar"
    assert COMPILED_FILE in hand_out(pack, here.store, file)
    there = Installation(tmp_path / "there")
    (result,) = bring(there, file)
    assert [m.id for m in result.compiled] == ["tiny-detector", "tiny-embedder"]
    assert pack_state(pack, there.store) is PackState.INSTALLED
    assert verify(pack, there.store).faults == ()
    found = there.store.compiled(pack.model[0], "rk3588", 32)
    assert found.data == conversion.networks[0].data
    assert found.model.proof == here.store.compiled(pack.model[0], "rk3588", 32).model.proof


def test_what_is_damaged_is_not_handed_on(
    here: Installation, pack: PackManifest, conversion: Conversion, tmp_path: Path
) -> None:
    here.pull(pack)
    bring(here, conversion.write(tmp_path / "stick"))
    golden_of(here.store.layout, here.store.compiled(pack.model[0], "rk3588", 32).model).unlink()
    with pytest.raises(ModelDamaged, match="is missing"):
        hand_out(pack, here.store, tmp_path / "tiny.tar")
    assert not (tmp_path / "tiny.tar").exists()
