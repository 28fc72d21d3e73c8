"""An embedder's judge: cosines first, LFW where they hold, and both decide in the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from edgefaced_convert.judging import EmbedderJudge
from edgefaced_convert.packs import PackNetwork
from edgefaced_convert.proof_embedder import AlignedPairs, lfw_figures
from edgefaced_convert.road import Built, Plan
from edgefaced_convert.search import search
from edgefaced_convert.toolchain import ConvertError
from networks import embedder_spec

from edgefaced.errors import ModelContractError
from edgefaced.evaluation.pairs import Pair, PairList
from edgefaced.evaluation.people import Pictures
from edgefaced.protocols import Tensor, TensorSpec
from edgefaced.types import AlignedFace, ColourOrder

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


def built(backend: Embedding) -> Built:
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
