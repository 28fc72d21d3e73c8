from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import pytest
from networks import answers, network, normal
from onnx import helper

from edgefaced.models.prepare.alignment import align_channels
from edgefaced.models.prepare.graph import Graph
from edgefaced.models.prepare.onnx_file import infer_shapes, read_graph, write_graph

X = normal(1, 3, 8, 8, seed=3)
PADS = [1, 1, 1, 1]


def aligned(
    nodes: Sequence[onnx.NodeProto],
    constants: Mapping[str, np.ndarray],
    outputs: Mapping[str, Sequence[int]],
    block: int = 8,
) -> Graph:
    """The padded graph, which answers as the plain one does."""
    model = network(nodes, constants, {"x": [1, 3, 8, 8]}, outputs)
    graph = read_graph(model)
    align_channels(graph, infer_shapes(graph), block)
    graph.tidy()
    old, new = answers(model, {"x": X}), answers(write_graph(graph), {"x": X})
    for name in old:
        assert old[name].shape == new[name].shape
        np.testing.assert_allclose(new[name], old[name], rtol=1e-5, atol=1e-5)
    return graph


def weights(graph: Graph, op: str = "Conv") -> list[tuple[int, ...]]:
    return [graph.constants[node.inputs[1]].shape for node in graph.nodes if node.op == op]


def chain(
    middle: Sequence[onnx.NodeProto], constants: Mapping[str, np.ndarray], side: int = 8
) -> Graph:
    """5 channels between two convolutions, from `a` to `b` through the nodes in the middle."""
    nodes = [
        helper.make_node("Conv", ["x", "v", "c"], ["a"], pads=PADS),
        *middle,
        helper.make_node("Conv", ["b", "w"], ["y"]),
    ]
    ends = {"v": normal(5, 3, 3, 3), "c": normal(5), "w": normal(2, 5, 1, 1, seed=1)}
    return aligned(nodes, {**ends, **constants}, {"y": [1, 2, side, side]})


@pytest.mark.parametrize("op", ["Relu", "Sigmoid", "Clip"])
def test_channels_between_convolutions_are_padded(op: str) -> None:
    graph = chain([helper.make_node(op, ["a"], ["b"])], {})
    assert weights(graph) == [(8, 3, 3, 3), (2, 8, 1, 1)]


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pools_pass_them_on(op: str) -> None:
    node = helper.make_node(op, ["a"], ["b"], kernel_shape=[2, 2], strides=[2, 2])
    assert weights(chain([node], {}, side=4)) == [(8, 3, 3, 3), (2, 8, 1, 1)]


def test_depthwise_convolutions_get_more_groups() -> None:
    nodes = [
        helper.make_node("Conv", ["a", "d", "e"], ["m"], pads=PADS, group=5),
        helper.make_node("PRelu", ["m", "s"], ["b"]),
    ]
    constants = {"d": normal(5, 1, 3, 3), "e": normal(5), "s": normal(5, 1, 1)}
    graph = chain(nodes, constants)
    assert weights(graph) == [(8, 3, 3, 3), (8, 1, 3, 3), (2, 8, 1, 1)]
    assert weights(graph, "PRelu") == [(8, 1, 1)]
    assert graph.nodes[1].attributes["group"] == 8


def test_one_slope_for_all_channels_stays_one() -> None:
    """It says nothing of the number of channels: what reads it is left alone."""
    graph = chain([helper.make_node("PRelu", ["a", "s"], ["b"])], {"s": normal(1, 1, 1)})
    assert weights(graph) == [(5, 3, 3, 3), (2, 5, 1, 1)]


def test_squeeze_and_excitation() -> None:
    nodes = [
        helper.make_node("GlobalAveragePool", ["a"], ["g"]),
        helper.make_node("Conv", ["g", "s"], ["h"]),
        helper.make_node("Sigmoid", ["h"], ["k"]),
        helper.make_node("Mul", ["a", "k"], ["m"]),
        helper.make_node("Add", ["m", "a"], ["b"]),
    ]
    graph = chain(nodes, {"s": normal(5, 5, 1, 1)})
    assert weights(graph) == [(8, 3, 3, 3), (8, 8, 1, 1), (2, 8, 1, 1)]


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Softmax", ["a"], ["b"], axis=1),
        helper.make_node("Add", ["a", "k"], ["b"]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[0, 1, 3, 2]),
    ],
)
def test_what_depends_on_the_number_of_channels_keeps_it(node: onnx.NodeProto) -> None:
    graph = chain([node], {"k": normal(5, 1, 1)})
    assert weights(graph) == [(5, 3, 3, 3), (2, 5, 1, 1)]


def test_groups_of_several_channels_keep_them() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"]),
        helper.make_node("Conv", ["a", "g"], ["b"], group=5),
        helper.make_node("Conv", ["b", "w"], ["y"]),
    ]
    constants = {"v": normal(5, 3, 1, 1), "g": normal(10, 1, 1, 1), "w": normal(2, 10, 1, 1)}
    graph = aligned(nodes, constants, {"y": [1, 2, 8, 8]})
    assert weights(graph) == [(5, 3, 1, 1), (10, 1, 1, 1), (2, 10, 1, 1)]


def test_an_output_keeps_its_channels() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"]),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("Conv", ["a", "w"], ["y"]),
    ]
    constants = {"v": normal(5, 3, 1, 1), "w": normal(2, 5, 1, 1)}
    graph = aligned(nodes, constants, {"y": [1, 2, 8, 8], "r": [1, 5, 8, 8]})
    assert weights(graph) == [(5, 3, 1, 1), (2, 5, 1, 1)]


@pytest.mark.parametrize("block", [1, 5])
def test_whole_blocks_need_no_padding(block: int) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"]),
        helper.make_node("Conv", ["a", "w"], ["y"]),
    ]
    constants = {"v": normal(5, 3, 1, 1), "w": normal(2, 5, 1, 1)}
    graph = aligned(nodes, constants, {"y": [1, 2, 8, 8]}, block)
    assert weights(graph) == [(5, 3, 1, 1), (2, 5, 1, 1)]
