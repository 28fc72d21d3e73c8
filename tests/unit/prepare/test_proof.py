from __future__ import annotations

import numpy as np
import pytest
from networks import embedder_spec, network, normal
from onnx import helper

from edgefaced.errors import ModelContractError
from edgefaced.models.prepare.input_stage import add_input_stage
from edgefaced.models.prepare.onnx_file import read_graph, write_graph
from edgefaced.models.prepare.proof import (
    Candidate,
    agreement,
    network_input,
    pattern,
    pictures_for,
    prove,
)
from edgefaced.models.prepare.reference import reference_answers


def embedder(scale: float = 1.0, bend: float = 0.0) -> bytes:
    """`bend` turns the answer, `scale` lengthens it."""
    nodes = [
        helper.make_node("Conv", ["pixels", "k"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["m"]),
        helper.make_node("Flatten", ["m"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["vector"]),
    ]
    matrix = normal(8, 16) * scale + bend * normal(8, 16, seed=4)
    constants = {"k": normal(8, 3, 3, 3), "w": matrix}
    return network(nodes, constants, {"pixels": [1, 3, 32, 32]}, {"vector": [1, 16]})


ORIGINAL = embedder()
SPEC = embedder_spec(ORIGINAL, shape=(1, 3, 32, 32))
PHOTOGRAPHS = [pattern(64), np.roll(pattern(48), 7, axis=1)]


def prepared(model: bytes) -> Candidate:
    graph = read_graph(model)
    add_input_stage(graph, SPEC)
    return Candidate(write_graph(graph), optimise=True)


def test_the_same_network_is_proven() -> None:
    proof = prove(SPEC, ORIGINAL, [prepared(ORIGINAL)], PHOTOGRAPHS, 32, 32, 1)
    assert (proof.kind, proof.inputs) == ("photographs", 4)
    assert proof.lowest_cosine > 0.999999
    assert proof.largest_difference < 1e-3


def test_without_photographs_a_pattern_serves() -> None:
    proof = prove(SPEC, ORIGINAL, [prepared(ORIGINAL)], [], 32, 32, 1)
    assert (proof.kind, proof.inputs) == ("pattern", 2)


def test_an_answer_that_points_elsewhere_is_refused() -> None:
    bent = [prepared(ORIGINAL), prepared(embedder(bend=0.1))]
    with pytest.raises(ModelContractError, match=r"'vector'.*cosine 0\.99.*0\.9999 is needed"):
        prove(SPEC, ORIGINAL, bent, PHOTOGRAPHS, 32, 32, 1)


def test_the_largest_difference_is_told() -> None:
    """A cosine is blind to length; the difference is not."""
    proof = prove(SPEC, ORIGINAL, [prepared(embedder(scale=1.001))], PHOTOGRAPHS, 32, 32, 1)
    assert proof.lowest_cosine > 0.999999
    assert proof.largest_difference > 1e-4


def test_a_file_that_nothing_runs_is_one_line() -> None:
    made_up = [helper.make_node("Frobnicate", ["pixels"], ["vector"])]
    model = network(made_up, {}, {"pixels": [1, 3, 32, 32]}, {"vector": [1, 16]})
    feeds = [network_input(SPEC, pattern(32))]
    with pytest.raises(ModelContractError, match=r"neither onnxruntime.*nor OpenCV") as raised:
        reference_answers(model, "pixels", ["vector"], feeds, 1)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("a", "b", "cosine", "difference"),
    [
        ([1, 0], [1, 0], 1.0, 0.0),
        ([1, 0], [0, 1], 0.0, 1.0),
        ([1, 0], [-1, 0], -1.0, 2.0),
        ([0, 0], [0, 0], 1.0, 0.0),
        ([0, 0], [1, 0], 0.0, 1.0),
    ],
)
def test_agreement(a: list[float], b: list[float], cosine: float, difference: float) -> None:
    given = agreement(np.array(a, np.float32), np.array(b, np.float32))
    assert given == pytest.approx((cosine, difference))


def test_rounding_of_an_empty_score_map_is_no_disagreement() -> None:
    silent = np.abs(normal(100)) * np.float32(1e-7)
    cosine, difference = agreement(silent, silent + np.float32(1e-7))
    assert cosine == pytest.approx(1.0)
    assert difference == pytest.approx(1e-7, rel=0.1)
    assert agreement(silent, silent + np.float32(1e-5))[0] < 0.9


def test_tensors_of_two_sizes_do_not_agree() -> None:
    cosine, _ = agreement(normal(4), normal(5))
    assert not cosine >= 0.9999


def test_nan_does_not_agree() -> None:
    cosine, _ = agreement(normal(4), np.full(4, np.nan, np.float32))
    assert not cosine >= 0.9999


def test_photographs_of_any_shape_become_squares() -> None:
    photographs = [np.full(shape, 200, np.uint8) for shape in ((1, 500, 3), (500, 2, 3), (9, 9, 3))]
    pictures = pictures_for(photographs, 32)
    assert [p.shape for p in pictures] == [(32, 32, 3)] * 6
    assert all(p.dtype == np.uint8 and p.max() == 200 for p in pictures)


def test_the_pattern_is_the_same_every_time_and_has_structure() -> None:
    np.testing.assert_array_equal(pattern(64), pattern(64))
    assert all(pattern(64)[..., channel].std() > 20 for channel in range(3))
    assert pattern(64).max() > 240
    assert pattern(64).min() < 15
