"""Packs of real networks, from the evaluation data where this machine has it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from installation import Installation

from edgefaced.models.bring_in import bring_in
from edgefaced.models.state import PackState, pack_state
from edgefaced.models.verification import verify

STAND_IN = Path(__file__).parents[2] / "packs" / "w600k-mbf-dequantised.toml"


@pytest.mark.slow
def test_packs_of_real_networks_are_imported_from_a_folder(
    shared_data: Path, here: Installation
) -> None:
    here.store.layout.packs.mkdir(parents=True)
    shutil.copy(STAND_IN, here.store.layout.packs)
    results = bring_in(shared_data / "models", None, here.store, here.workshop, here.told)
    by_name = {result.manifest.name: result for result in results}
    assert by_name["buffalo-sc"].missing == ("w600k_mbf.onnx",)
    for name in ("mobilefacenet", "w600k-mbf-dequantised"):
        pack = by_name[name].manifest
        assert pack_state(pack, here.store) is PackState.INSTALLED
        assert verify(pack, here.store).faults == ()
        proofs = [v.proof for p in by_name[name].prepared for v in p.record.variants]
        assert len(proofs) == 4, "three sizes of the detector, one of the embedder"
        assert all(proof.lowest_cosine >= 0.9999 for proof in proofs)
