from __future__ import annotations

import numpy as np
import pytest
from networks import answers, network, normal, operators
from onnx import helper

from edgefaced.models.prepare.folding import fold_constants
from edgefaced.models.prepare.onnx_file import read_graph, write_graph

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("block", [9, 3])
def test_block_wise_weights_become_the_floats_they_stand_for(block: int) -> None:
    """DequantizeLinear by blocks and the Reshape behind it, as in OpenCV's int8bq files."""
    quantised = RANDOM.integers(-128, 128, (10, 9)).astype(np.int8)
    scales = RANDOM.uniform(0.001, 0.01, (10, 9 // block)).astype(np.float32)
    zeros = RANDOM.integers(-60, 60, scales.shape).astype(np.int8)
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], axis=1, block_size=block),
        helper.make_node("Reshape", ["d", "t"], ["w"]),
        helper.make_node("Conv", ["x", "w"], ["y"], group=10),
    ]
    constants: dict[str, np.ndarray] = {
        "q": quantised,
        "s": scales,
        "z": zeros,
        "t": np.array([10, 1, 3, 3]),
    }
    model = network(nodes, constants, {"x": [1, 10, 8, 8]}, {"y": [1, 10, 6, 6]}, opset=21)
    graph = read_graph(model)
    fold_constants(graph, shapes=False)
    offsets = quantised.astype(np.float32) - zeros.astype(np.float32).repeat(block, 1)
    by_hand = offsets * scales.repeat(block, 1)
    assert [node.op for node in graph.nodes] == ["Conv"]
    np.testing.assert_array_equal(graph.constants["w"], by_hand.reshape(10, 1, 3, 3))


def resized_by_shape() -> bytes:
    """Doubles a picture by way of its own shape, as PyTorch exports it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Slice", ["shape", "two", "four"], ["sides"]),
        helper.make_node("Mul", ["sides", "twice"], ["larger"]),
        helper.make_node("Slice", ["shape", "nought", "two"], ["head"]),
        helper.make_node("Concat", ["head", "larger"], ["sizes"], axis=0),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest"),
    ]
    numbers = {"nought": 0, "two": 2, "four": 4, "twice": 2}
    constants = {name: np.array([n], np.int64) for name, n in numbers.items()}
    return network(nodes, constants, {"x": [1, 2, 4, 4]}, {"y": [1, 2, 8, 8]})


def test_shape_arithmetic_is_computed_where_shapes_count_as_known() -> None:
    model = resized_by_shape()
    graph = read_graph(model)
    fold_constants(graph, shapes=True)
    written = write_graph(graph)
    assert operators(written) == {"Resize": 1}
    x = normal(1, 2, 4, 4)
    np.testing.assert_array_equal(answers(model, {"x": x})["y"], answers(written, {"x": x})["y"])


def test_shape_arithmetic_stays_where_they_do_not() -> None:
    graph = read_graph(resized_by_shape())
    fold_constants(graph, shapes=False)
    assert "Shape" in [node.op for node in graph.nodes]


def test_part_of_a_shape() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["sides"], start=1, end=3),
        helper.make_node("Cast", ["sides"], ["numbers"], to=1),
        helper.make_node("Mul", ["v", "numbers"], ["y"]),
    ]
    model = network(nodes, {}, {"x": [1, 5, 7, 2], "v": [2]}, {"y": [2]}, opset=15)
    graph = read_graph(model)
    fold_constants(graph, shapes=True)
    assert graph.constants["numbers"].tolist() == [5, 7]


def test_random_numbers_are_no_constants() -> None:
    nodes = [
        helper.make_node("RandomNormal", [], ["noise"], shape=[2]),
        helper.make_node("Add", ["x", "noise"], ["y"]),
    ]
    graph = read_graph(network(nodes, {}, {"x": [2]}, {"y": [2]}))
    fold_constants(graph, shapes=True)
    assert [node.op for node in graph.nodes] == ["RandomNormal", "Add"]


def test_a_constant_output_keeps_its_node() -> None:
    nodes = [helper.make_node("Relu", ["c"], ["y"])]
    graph = read_graph(network(nodes, {"c": np.ones(2, np.float32)}, {}, {"y": [2]}))
    fold_constants(graph, shapes=True)
    assert [node.op for node in graph.nodes] == ["Relu"]
