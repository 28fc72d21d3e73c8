"""Judges: an embedder's cosines first, LFW where they hold; a detector's faces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
import tiny_pack
from edgefaced_convert.forms import portable_form
from edgefaced_convert.judging import DetectorJudge, EmbedderJudge
from edgefaced_convert.packs import PackNetwork
from edgefaced_convert.proof_detector import Scene
from edgefaced_convert.proof_embedder import AlignedPairs, lfw_figures
from edgefaced_convert.road import Built, Plan
from edgefaced_convert.scenes import scenes_of
from edgefaced_convert.search import search
from edgefaced_convert.toolchain import ConvertError
from networks import embedder_spec

from edgefaced.errors import ModelContractError
from edgefaced.evaluation.pairs import Pair, PairList
from edgefaced.evaluation.people import Pictures
from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.manifest import parse_manifest
from edgefaced.protocols import InferenceBackend, Tensor, TensorSpec
from edgefaced.types import AlignedFace, ColourOrder, Role

PEOPLE, FOLDS = 40, 10
NETWORK = PackNetwork("p", embedder_spec(b"network"), b"", 112)


def face(person: int, picture: int) -> AlignedFace:
    return AlignedFace(np.full((112, 112, 3), (person, picture, 0), np.uint8), ColourOrder.RGB)


class Embedding:
    """Knows everybody: a direction for each person, and a little noise for each picture.

    Of those below `confused` it says the same; `noise` moves everybody.
    """

    inputs = (TensorSpec("image", (1, 112, 112, 3), np.dtype(np.uint8)),)
    outputs = (TensorSpec("vector", (1, 16), np.dtype(np.float32)),)

    def __init__(self, confused: int = 0, noise: float = 0.0) -> None:
        self.confused, self.noise = confused, noise
        self.asked: set[int] = set()

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        person, picture, _ = (int(value) for value in feeds["image"][0, 0, 0])
        self.asked.add(person)
        whose = PEOPLE if person < self.confused else person
        draw = np.random.default_rng([person, picture])
        vector = np.random.default_rng(whose).standard_normal(16)
        vector += 0.1 * draw.standard_normal(16) + self.noise * draw.standard_normal(16)
        return [vector[np.newaxis].astype(np.float32)]

    def close(self) -> None: ...


def pairs(people: int = 20) -> AlignedPairs:
    """The two pictures of each, and the first of each beside the next one's second."""
    listed = []
    for fold in range(FOLDS):
        for person in range(people):
            listed.append(Pair(2 * person, 2 * person + 1, True, fold))
            listed.append(Pair(2 * person, 2 * ((person + 1) % people) + 1, False, fold))
    faces = tuple(face(person, picture) for person in range(people) for picture in (0, 1))
    return AlignedPairs(
        PairList(Pictures((), (), ()), tuple(listed)), faces, tuple(range(len(faces))), ()
    )


HELD_OUT = [face(person, 0) for person in range(30, PEOPLE)]


def judge() -> EmbedderJudge:
    return EmbedderJudge(NETWORK, Embedding(), HELD_OUT, pairs())


def built(backend: InferenceBackend) -> Built:
    return Built(b"", (), backend, list)


def test_lfw_decides_where_the_cosines_hold() -> None:
    same, fault = judge().prove(built(Embedding()))
    assert fault == ""
    assert same.lfw is not None
    assert (same.lfw.accuracy, same.lfw.accuracy_float, same.lfw.pairs) == (1.0, 1.0, 400)
    assert (same.lfw.tar, same.lfw.far) == (1.0, 1e-2)
    verdict, fault = judge().prove(built(Embedding(confused=20)))
    assert verdict.embedder is not None
    assert verdict.embedder.fault == ""
    assert fault == verdict.fault
    assert "LFW accuracy" in fault


def test_lfw_is_not_asked_where_the_cosines_fail() -> None:
    backend = Embedding(noise=1.0)
    verdict, fault = judge().prove(built(backend))
    assert "mean cosine" in fault
    assert verdict.lfw is None
    assert backend.asked == set(range(30, PEOPLE))


def test_a_set_without_held_out_faces_proves_nothing() -> None:
    with pytest.raises(ModelContractError, match="no held-out faces"):
        EmbedderJudge(NETWORK, Embedding(), [], None)


def test_few_pairs_have_an_accuracy_and_no_far() -> None:
    few = pairs(people=4)
    rows = np.stack([np.eye(16, dtype=np.float32)[person] for person in range(4) for _ in (0, 1)])
    found = lfw_figures(few, rows, rows)
    assert (found.pairs, found.accuracy, found.tar, found.far) == (80, 1.0, None, None)


@dataclass
class Road:
    """Plans that fail LFW, by what they keep in float."""

    fails: frozenset[int]
    algorithms = ("min-max", "MMSE")
    base = "MMSE"
    ends = (("first",), ("last",))
    heads = ()

    @contextmanager
    def built(self, plan: Plan) -> Iterator[Built]:
        confused = 20 if len(plan.in_float) in self.fails else 0
        yield built(Embedding(confused, 0.0 if plan.algorithm == "MMSE" else 1.0))


def test_mixed_precision_goes_on_until_lfw_holds() -> None:
    with search(Road(frozenset({0, 1})), "mixed", judge().prove, lambda line: None) as found:
        assert found.plan.in_float == ("first", "last")
        assert found.figures.fault == ""
        assert found.figures.lfw is not None
    faults = [attempt.fault for attempt in found.attempts]
    assert "mean cosine" in faults[0]
    assert ["LFW" in fault for fault in faults] == [False, True, True, False]


def test_what_loses_lfw_in_every_plan_is_refused_by_it() -> None:
    road = Road(frozenset({0, 1, 2}))
    with (
        pytest.raises(ConvertError, match="LFW accuracy"),
        search(road, "mixed", judge().prove, lambda line: None),
    ):
        raise AssertionError("nothing was found")


class Blind:
    """A detector whose scores are all lost, and the rest as it was."""

    def __init__(self, plain: InferenceBackend) -> None:
        self.plain, self.inputs, self.outputs = plain, plain.inputs, plain.outputs

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        answers = zip(self.outputs, self.plain.run(feeds), strict=True)
        return [answer * 0 if "score" in spec.name else answer for spec, answer in answers]

    def close(self) -> None: ...


def tiny_detector(boxes: str = "box") -> PackNetwork:
    pack = tiny_pack.TinyPack()
    spec = parse_manifest(pack.manifest.encode(), "it").of_role(Role.DETECTOR)
    assert spec.decoder is not None
    decoder = spec.decoder.model_copy(update={"boxes": (boxes,)})
    changed = spec.model_copy(update={"decoder": decoder})
    return PackNetwork("p", changed, pack.detector, tiny_pack.SIZE)


def frames(count: int) -> list[Scene]:
    draw = np.random.default_rng(3)
    return scenes_of([draw.integers(0, 256, (32, 32, 3), dtype=np.uint8) for _ in range(count)])


def test_a_detector_that_finds_the_same_faces_holds_and_a_blind_one_does_not() -> None:
    network = tiny_detector()
    plain = OnnxBackend(portable_form(network), threads=1, optimise=True)
    try:
        judge = DetectorJudge(network, plain, frames(6), frames(2))
        same, fault = judge.prove(built(plain))
        assert fault == ""
        assert same.detector is not None
        assert same.pictures is not None
        assert same.detector.faces == same.detector.faces_float > 0
        assert same.pictures.pictures == 2
        verdict, fault = judge.prove(built(Blind(plain)))
        assert verdict.detector is not None
        assert verdict.detector.lost == same.detector.faces
        assert "faces lost" in fault
        with pytest.raises(ModelContractError, match="no held-out frames"):
            DetectorJudge(network, plain, [], frames(2))
    finally:
        plain.close()


def test_boxes_and_scores_in_one_tensor_are_refused() -> None:
    with pytest.raises(ModelContractError, match="one tensor"):
        DetectorJudge(tiny_detector(boxes="score"), Embedding(), frames(1), ())
