from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from networks import answers, network, normal
from onnx import helper

from edgefaced.models.prepare.graph import Graph
from edgefaced.models.prepare.heads import merge_heads
from edgefaced.models.prepare.onnx_file import infer_shapes, read_graph, write_graph
from edgefaced.models.prepare.prelu import rewrite_prelu
from edgefaced.models.prepare.simplify import drop_no_ops, floor_pools, simplify


def counted(graph: Graph) -> Counter[str]:
    return Counter(node.op for node in graph.nodes)


def check_same(model: bytes, graph: Graph, x: np.ndarray) -> None:
    old, new = answers(model, {"x": x}), answers(write_graph(graph), {"x": x})
    assert [*old] == [*new]
    for name in old:
        assert old[name].shape == new[name].shape
        np.testing.assert_allclose(new[name], old[name], rtol=1e-4, atol=1e-5, err_msg=name)


def identity_and_dropout(kept: bool) -> bytes:
    """An Identity in the middle, a Dropout at the end; `kept`: the middle is an output as well."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Neg", ["b"], ["c"]),
        helper.make_node("Dropout", ["c"], ["y"]),
    ]
    outputs = {"y": [2, 3]} | ({"a": [2, 3]} if kept else {})
    return network(nodes, {}, {"x": [2, 3]}, outputs)


@pytest.mark.parametrize("kept", [True, False])
def test_what_does_nothing_is_dropped(kept: bool) -> None:
    model = identity_and_dropout(kept)
    graph = read_graph(model)
    drop_no_ops(graph)
    assert counted(graph) == {"Relu": 1, "Neg": 1}
    check_same(model, graph, normal(2, 3))


def test_an_output_that_is_the_input_keeps_its_identity() -> None:
    model = network([helper.make_node("Identity", ["x"], ["y"])], {}, {"x": [2]}, {"y": [2]})
    graph = read_graph(model)
    drop_no_ops(graph)
    assert counted(graph) == {"Identity": 1}


def test_two_names_of_one_output_stay_two() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Identity", ["a"], ["y"])]
    model = network(nodes, {}, {"x": [2]}, {"a": [2], "y": [2]})
    graph = read_graph(model)
    drop_no_ops(graph)
    check_same(model, graph, normal(2))


@pytest.mark.parametrize(
    ("op", "side", "attributes", "floored"),
    [
        ("AveragePool", 8, {}, True),
        ("MaxPool", 8, {}, True),
        ("AveragePool", 7, {}, False),
        ("MaxPool", 7, {"pads": [1, 1, 0, 0]}, True),
        ("MaxPool", 8, {"dilations": [1, 1]}, False),
    ],
)
def test_pools_whose_windows_fit(
    op: str, side: int, attributes: dict[str, list[int]], floored: bool
) -> None:
    node = helper.make_node(op, ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    node.attribute.extend(helper.make_attribute(name, v) for name, v in attributes.items())
    model = network([node], {}, {"x": [1, 2, side, side]}, {"y": [1, 2, 4, 4]})
    graph = read_graph(model)
    floor_pools(graph, infer_shapes(graph))
    assert graph.nodes[0].attributes["ceil_mode"] == int(not floored)
    check_same(model, graph, normal(1, 2, side, side))


SLOPES = {
    "below one": np.array([0.25, -0.8, 0.0, 1.0], np.float32),
    "above one": np.array([0.25, 1.4, -0.5, 0.1], np.float32),
    "one for all": np.array([0.1], np.float32),
}


@pytest.mark.parametrize("slope", [*SLOPES])
@pytest.mark.parametrize("blocked", [True, False])
def test_prelu(slope: str, blocked: bool) -> None:
    nodes = [
        helper.make_node("PRelu", ["x", "s"], ["p"]),
        helper.make_node("PRelu", ["p", "s"], ["y"]),
    ]
    constants = {"s": SLOPES[slope].reshape(-1, 1, 1)}
    model = network(nodes, constants, {"x": [2, 4, 5, 5]}, {"y": [2, 4, 5, 5]})
    graph = read_graph(model)
    rewrite_prelu(graph, blocked=blocked)
    assert counted(graph)["PRelu"] == 0
    assert counted(graph)["Max"] == (2 if slope != "above one" and not blocked else 0)
    check_same(model, graph, normal(2, 4, 5, 5))


def test_a_prelu_of_computed_slopes_stays() -> None:
    nodes = [
        helper.make_node("Abs", ["v"], ["s"]),
        helper.make_node("PRelu", ["x", "s"], ["y"]),
    ]
    model = network(nodes, {}, {"x": [1, 4], "v": [4]}, {"y": [1, 4]})
    graph = read_graph(model)
    rewrite_prelu(graph, blocked=True)
    assert counted(graph)["PRelu"] == 1


HEADS = {"score": 2, "box": 8, "landmarks": 20}


def detector_heads(
    heads: dict[str, int],
    *,
    depthwise: bool = False,
    perm: Sequence[int] = (0, 2, 3, 1),
    opset: int = 11,
    bias: bool = True,
    kernels: dict[str, int] | None = None,
) -> bytes:
    """Convolutions of one feature map, as a detector ends."""
    nodes, constants, outputs = [], {}, {}
    for i, (name, channels) in enumerate(heads.items()):
        kernel = (kernels or {}).get(name, 3)
        constants[f"{name}_w"] = normal(channels, 6, kernel, kernel, seed=i)
        weights = [f"{name}_w"]
        if bias:
            constants[f"{name}_b"] = normal(channels, seed=10 + i)
            weights.append(f"{name}_b")
        pads = [kernel // 2] * 4
        nodes.append(helper.make_node("Conv", ["x", *weights], [f"{name}_1"], pads=pads))
        last = f"{name}_1"
        if depthwise:
            constants[f"{name}_d"] = normal(channels, 1, 3, 3, seed=20 + i)
            nodes.append(
                helper.make_node(
                    "Conv", [last, f"{name}_d"], [f"{name}_2"], pads=[1] * 4, group=channels
                )
            )
            last = f"{name}_2"
        constants[f"{name}_t"] = np.array([-1, channels // 2])
        nodes += [
            helper.make_node("Transpose", [last], [f"{name}_3"], perm=perm),
            helper.make_node("Reshape", [f"{name}_3", f"{name}_t"], [f"{name}_4"]),
            helper.make_node("Sigmoid", [f"{name}_4"], [name]),
        ]
        outputs[name] = [32, channels // 2]
    return network(nodes, constants, {"x": [1, 6, 4, 4]}, outputs, opset=opset)


def merged(model: bytes) -> Graph:
    graph = read_graph(model)
    merge_heads(graph, infer_shapes(graph))
    graph.tidy()
    check_same(model, graph, normal(1, 6, 4, 4, seed=7))
    return graph


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("perm", [(0, 2, 3, 1), (2, 3, 0, 1)])
def test_heads_become_one(opset: int, bias: bool, perm: tuple[int, ...]) -> None:
    operators = counted(merged(detector_heads(HEADS, opset=opset, bias=bias, perm=perm)))
    assert operators["Conv"] == operators["Transpose"] == operators["Split"] == 1


def test_depthwise_convolutions_behind_them_become_one_as_well() -> None:
    heads = {"cls": 2, "obj": 2, "box": 4, "kps": 10}
    graph = merged(detector_heads(heads, depthwise=True))
    first, second = (node for node in graph.nodes if node.op == "Conv")
    assert (first.attributes["group"], second.attributes["group"]) == (1, 18)
    assert counted(graph)["Transpose"] == counted(graph)["Split"] == 1


def test_other_orders_of_axes_are_merged_as_they_are() -> None:
    graph = merged(detector_heads(HEADS, perm=(0, 3, 2, 1)))
    assert counted(graph)["Conv"] == 1


def test_heads_of_whole_blocks_stay_apart() -> None:
    assert counted(merged(detector_heads({"a": 16, "b": 32})))["Conv"] == 2


def test_heads_with_unlike_kernels_stay_apart() -> None:
    graph = merged(detector_heads(HEADS, kernels={"score": 1}))
    assert counted(graph)["Conv"] == 2  # the two that are alike became one


def test_transposes_that_differ_stay_apart() -> None:
    model = onnx.load_model_from_string(detector_heads({"a": 2, "b": 4}))
    (last,) = (n for n in model.graph.node if n.output[0] == "b_3")
    last.attribute[0].ints[:] = [0, 3, 2, 1]
    operators = counted(merged(model.SerializeToString()))
    assert (operators["Conv"], operators["Transpose"]) == (1, 2)


def test_a_head_that_is_an_output_itself_is_split_off_at_once() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"]),
        helper.make_node("Conv", ["x", "w"], ["b"]),
        helper.make_node("Transpose", ["a"], ["y"], perm=[0, 2, 3, 1]),
        helper.make_node("Transpose", ["b"], ["z"], perm=[0, 2, 3, 1]),
    ]
    constants = {"v": normal(2, 6, 1, 1), "w": normal(4, 6, 1, 1, seed=1)}
    outputs = {"y": [1, 4, 4, 2], "z": [1, 4, 4, 4], "a": [1, 2, 4, 4]}
    graph = merged(network(nodes, constants, {"x": [1, 6, 4, 4]}, outputs))
    assert counted(graph) == {"Conv": 1, "Split": 1, "Transpose": 2}


def test_a_batch_keeps_its_order_of_axes() -> None:
    """(2, 3, 0, 1) is (0, 2, 3, 1) for a batch of one only."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[2, 3, 0, 1]),
        helper.make_node("Reshape", ["t", "s"], ["y"]),
    ]
    model = network(nodes, {"s": np.array([-1, 3])}, {"x": [2, 3, 4, 4]}, {"y": [32, 3]})
    graph = read_graph(model)
    merge_heads(graph, infer_shapes(graph))
    check_same(model, graph, normal(2, 3, 4, 4))


@pytest.mark.parametrize("block", [1, 8, 16])
def test_all_together(block: int) -> None:
    nodes = [
        helper.make_node("Mul", ["x", "k"], ["m"]),
        helper.make_node("Conv", ["m", "w"], ["c"], pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c", "one", "two", "two", "one"], ["n"]),
        helper.make_node("PRelu", ["n", "s"], ["p"]),
        helper.make_node("Dropout", ["p"], ["d"]),
        helper.make_node("MaxPool", ["d"], ["q"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        helper.make_node("Conv", ["q", "v"], ["y"]),
    ]
    constants = {
        "k": np.array(0.5, np.float32),
        "w": normal(4, 3, 3, 3),
        "one": np.ones(4, np.float32),
        "two": normal(4),
        "s": np.full((4, 1, 1), 0.2, np.float32),
        "v": normal(2, 4, 1, 1),
    }
    model = network(nodes, constants, {"x": [1, 3, 8, 8]}, {"y": [1, 2, 4, 4]})
    graph = read_graph(model)
    simplify(graph, block=block)
    operators = counted(graph)
    assert operators["Conv"] == 2
    assert not {"BatchNormalization", "Dropout", "PRelu"} & {*operators}
    check_same(model, graph, normal(1, 3, 8, 8))
