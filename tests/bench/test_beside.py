"""We beside other programs, in turns. A ratio is asserted, never a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from stand_in_pack import PACK, import_stand_in

from edgefaced.benchmark.measure import Beside, Plan, measure
from edgefaced.config.settings import Settings
from edgefaced.errors import ModelMissing
from edgefaced.inference.threads import default_threads
from edgefaced.models.catalogue import find_pack
from edgefaced.models.store import ModelStore

pytestmark = pytest.mark.bench


def plan(store: ModelStore, pack: str, picture: Path, beside: Beside) -> Plan:
    return Plan(
        manifest=find_pack(pack, (store.layout.packs,)),
        sizes=(320, 640),
        frames=20,
        rounds=20,
        templates=1000,
        threads=default_threads(),
        picture=picture,
        beside=(beside,),
    )


@pytest.fixture
def one_face(shared_data: Path) -> Path:
    return shared_data / "detect" / "rknn_retinaface_test.jpg"


def test_we_are_faster_than_insightface_on_the_same_weights(
    shared_data: Path, one_face: Path, tmp_path: Path
) -> None:
    pytest.importorskip("insightface", reason="pip install insightface")
    store = ModelStore(import_stand_in(shared_data, tmp_path))
    for figures in measure(plan(store, PACK, one_face, "insightface"), store, Settings()):
        for comparison in figures.comparisons:
            assert comparison.agreement is not None
            assert comparison.agreement.cosine is not None
            assert comparison.agreement.cosine > 0.9
            # Far below what a quiet machine shows: a busy one takes turns with us, too.
            assert comparison.ratio.median > (1.2 if comparison.settings == "as it comes" else 0.6)


def test_opencv_finds_the_same_face_with_the_same_weights(one_face: Path, own_models: Path) -> None:
    store = ModelStore(own_models)
    plan_beside_opencv = plan(store, "commercial", one_face, "opencv")
    try:
        store.original(plan_beside_opencv.manifest.model[0])
    except ModelMissing:
        pytest.skip("pack commercial is not installed: edgefaced models pull commercial")
    for figures in measure(plan_beside_opencv, store, Settings()):
        (comparison,) = figures.comparisons
        assert comparison.agreement is not None
        assert comparison.agreement.cosine is not None
        assert comparison.agreement.cosine > 0.9
        assert comparison.ratio.median > 0.5
