"""Removing a pack takes its files, and none of another's."""

from __future__ import annotations

import pytest
from installation import Installation
from tiny_pack import TinyPack, embedder

from edgefaced.errors import ManifestError, ModelMissing
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import PackManifest
from edgefaced.models.removal import remove
from edgefaced.models.state import PackState, pack_state
from edgefaced.models.verification import verify


def test_nothing_of_a_removed_pack_is_left(here: Installation, pack: PackManifest) -> None:
    here.pull(pack)
    removed = remove(pack, here.store, here.told)
    assert removed.deleted == ("detector.onnx", "embedder.onnx")
    assert removed.shared == ()
    left = [p.name for p in here.store.folder.rglob("*") if p.is_file()]
    assert sorted(left) == [".lock", "tiny.toml"]
    assert pack_state(pack, here.store) is PackState.ABSENT


def test_a_removed_pack_can_be_pulled_again(here: Installation, pack: PackManifest) -> None:
    here.pull(pack)
    remove(pack, here.store, here.told)
    here.pull(pack)
    assert verify(pack, here.store).faults == ()


def test_what_another_pack_uses_stays(here: Installation, tiny: TinyPack) -> None:
    first = here.know(tiny)
    here.pull(first)
    other = TinyPack(name="other", embedder=embedder(seed=9))
    second = here.know(other)
    here.pull(second)
    removed = remove(first, here.store, here.told)
    assert removed.deleted == ("embedder.onnx",)
    assert removed.shared == ("detector.onnx",)
    assert verify(second, here.store).faults == ()
    assert pack_state(first, here.store) is PackState.ABSENT


def test_a_pack_that_was_never_installed_keeps_nothing(here: Installation, tiny: TinyPack) -> None:
    first = here.know(tiny)
    here.pull(first)
    here.know(TinyPack(name="twin"))
    assert remove(first, here.store, here.told).shared == ()


def test_files_prepared_only_for_the_removed_pack_go(here: Installation, tiny: TinyPack) -> None:
    """Same weights, another preparation: the weights stay, the preparation goes."""
    first = here.know(tiny)
    here.pull(first)
    path = here.store.layout.packs / "sized.toml"
    path.write_text(TinyPack(name="sized").manifest.replace("mean = [0.0,", "mean = [1.0,"))
    second = find_pack("sized", (here.store.layout.packs,))
    here.pull(second)
    mine, theirs = (here.store.layout.prepared(p.model[1]) for p in (first, second))
    assert mine != theirs
    remove(first, here.store, here.told)
    assert not mine.exists()
    assert verify(second, here.store).faults == ()


def test_what_is_not_installed_cannot_be_removed(here: Installation, pack: PackManifest) -> None:
    with pytest.raises(ModelMissing, match="not installed"):
        remove(pack, here.store, here.told)


def test_half_a_pack_can_be_removed(here: Installation, pack: PackManifest, tiny: TinyPack) -> None:
    path = here.store.layout.original(pack.model[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(tiny.detector)
    assert remove(pack, here.store, here.told).deleted == ("detector.onnx",)
    assert not path.parent.exists()


def test_while_another_installed_pack_cannot_be_read_nothing_is_removed(
    here: Installation, tiny: TinyPack
) -> None:
    first = here.know(tiny)
    here.pull(first, here.know(TinyPack(name="twin")))
    (here.store.layout.packs / "twin.toml").write_text("?")
    with pytest.raises(ManifestError, match=r"twin\.toml"):
        remove(first, here.store, here.told)
    assert verify(first, here.store).faults == ()
