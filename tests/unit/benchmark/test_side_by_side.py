"""Our path with real networks, and another program beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stand_in_pack import PACK, import_stand_in

from edgefaced.benchmark.crowd import empty_gallery, enrol_crowd
from edgefaced.benchmark.peer import Peer, PeerFace
from edgefaced.benchmark.pipeline import NETWORKS, STAGES, Pipeline, figures, open_pipeline
from edgefaced.benchmark.scene import scene
from edgefaced.benchmark.side_by_side import compare
from edgefaced.config.sections import QualitySection
from edgefaced.errors import UsageError
from edgefaced.gallery.index import LiveIndex, open_index
from edgefaced.gallery.records import NewTemplate
from edgefaced.models.catalogue import find_pack
from edgefaced.models.store import ModelStore
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.types import U8, Frame, Outcome


@pytest.fixture(scope="module")
def store(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> ModelStore:
    return ModelStore(import_stand_in(shared_data, tmp_path_factory.mktemp("bench")))


@pytest.fixture
def pipeline(store: ModelStore) -> Iterator[Pipeline]:
    manifest = find_pack(PACK, (store.layout.packs,))
    limits = QualitySection().limits()
    with open_pipeline(store, manifest, detector_size=320, threads=1, limits=limits) as opened:
        yield opened


@pytest.fixture
def frame(shared_data: Path) -> Frame:
    picture = read_picture(shared_data / "detect" / "rknn_retinaface_test.jpg")
    return frame_of(scene(picture))


@pytest.fixture
def index(pipeline: Pipeline, frame: Frame) -> Iterator[LiveIndex]:
    _, embedding = pipeline.face_of(frame)
    with empty_gallery() as gallery:
        gallery.enrol("Somebody", [NewTemplate(embedding)])
        enrol_crowd(gallery, embedding.model_id, embedding.dimension, 50)
        yield open_index(gallery, embedding.model_id, "exact")


def test_the_stages_make_up_the_whole_and_know_the_person(
    pipeline: Pipeline, frame: Frame, index: LiveIndex
) -> None:
    passages = [pipeline.pass_through(frame, index) for _ in range(3)]
    for passage in passages:
        assert sum(passage.stages_ns) == passage.total_ns
        assert min(passage.stages_ns) > 0
        networks = [passage.stages_ns[STAGES.index(name)] for name in NETWORKS]
        assert passage.outside_ns == passage.total_ns - sum(networks)
        assert passage.decision.outcome is Outcome.KNOWN
        assert passage.decision.score == pytest.approx(1, abs=1e-5)
    spreads = figures(passages)
    assert [stage.name for stage in spreads.stages] == list(STAGES)
    assert spreads.total.n == spreads.outside_networks.n == 3


def test_a_frame_without_a_face_is_refused(pipeline: Pipeline) -> None:
    with pytest.raises(UsageError, match="0 faces found"):
        pipeline.face_of(frame_of(np.zeros((720, 1280, 3), np.uint8)))


def test_a_peer_runs_as_often_as_we_do_and_is_held_against_our_face(
    pipeline: Pipeline, frame: Frame, index: LiveIndex
) -> None:
    detection, embedding = pipeline.face_of(frame)
    calls: list[U8] = []

    def find(pixels: U8) -> list[PeerFace]:
        calls.append(pixels)
        return [PeerFace(detection.box, embedding.vector * 20)]

    like_us = Peer("like us", "1.0", "as it comes", True, find)
    blind = replace(like_us, name="blind", find=lambda pixels: [])
    told: list[int] = []
    first, second = compare(pipeline, index, frame, [like_us, blind], 4, told.append)
    assert first.agreement is not None
    assert first.agreement.cosine == pytest.approx(1, abs=1e-6)
    assert (second.name, second.agreement) == ("blind", None)
    assert first.ours.n == first.theirs.n == first.ratio.n == 4
    assert first.ours_cpu.p50_ms > 0
    assert first.cpu_ratio.n == 4
    assert len(calls) == 1 + 2 * 4  # once to compare, then an uncounted one before each
    assert all(pixels is frame.pixels for pixels in calls)
    assert told == [1, 2, 3, 4]
