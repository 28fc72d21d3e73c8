from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import answers, network, normal
from onnx import helper

from edgefaced.models.prepare.affine import fold_backward, fold_scale_forward
from edgefaced.models.prepare.graph import Graph, Shapes
from edgefaced.models.prepare.onnx_file import infer_shapes, read_graph, write_graph

X = normal(2, 3, 6, 6, seed=9)
CONV = helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1])
WEIGHTS = {"w": normal(4, 3, 3, 3), "b": normal(4, seed=1)}
BATCHNORM: dict[str, np.ndarray] = {
    "gamma": normal(4, seed=2),
    "beta": normal(4, seed=3),
    "mean": normal(4, seed=4),
    "variance": np.abs(normal(4, seed=5)) + 0.5,
}
Pass = Callable[[Graph, Shapes], None]


def after(model: bytes, rewrite: Pass) -> tuple[bytes, Counter[str]]:
    graph = read_graph(model)
    rewrite(graph, infer_shapes(graph))
    graph.tidy()
    return write_graph(graph), Counter(node.op for node in graph.nodes)


def check_same(model: bytes, rewrite: Pass, x: np.ndarray = X) -> Counter[str]:
    written, operators = after(model, rewrite)
    old, new = answers(model, {"x": x}), answers(written, {"x": x})
    for name in old:
        np.testing.assert_allclose(
            new[name], old[name], rtol=0, atol=1e-5 * np.abs(old[name]).max()
        )
    return operators


def behind_conv(node: onnx.NodeProto, constants: dict[str, np.ndarray]) -> bytes:
    return network([CONV, node], {**WEIGHTS, **constants}, {"x": [2, 3, 6, 6]}, {"y": [2, 4, 6, 6]})


def test_batch_normalisation_behind_a_convolution() -> None:
    node = helper.make_node("BatchNormalization", ["c", *BATCHNORM], ["y"], epsilon=1e-3)
    assert check_same(behind_conv(node, BATCHNORM), fold_backward) == {"Conv": 1}


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("shape", [(), (1,), (4, 1, 1), (1, 4, 1, 1)])
@pytest.mark.parametrize("first", [True, False])
def test_arithmetic_with_a_constant(op: str, shape: tuple[int, ...], first: bool) -> None:
    names = ["k", "c"] if first else ["c", "k"]
    model = behind_conv(helper.make_node(op, names, ["y"]), {"k": normal(*shape, seed=7) + 3})
    folds = not (op == "Div" and first)
    assert check_same(model, fold_backward)[op] == (0 if folds else 1)


@pytest.mark.parametrize(
    "constant", [normal(6), normal(6, 1), normal(1, 4, 6, 6), normal(2, 1, 1, 1)]
)
def test_a_constant_that_differs_within_a_channel_stays(constant: np.ndarray) -> None:
    model = behind_conv(helper.make_node("Mul", ["c", "k"], ["y"]), {"k": constant})
    assert check_same(model, fold_backward) == {"Conv": 1, "Mul": 1}


def test_a_constant_that_widens_the_tensor_stays() -> None:
    narrow = helper.make_node("Conv", ["x", "w"], ["c"])
    model = network(
        [narrow, helper.make_node("Add", ["c", "k"], ["y"])],
        {"w": normal(1, 3, 1, 1), "k": normal(4, 1, 1)},
        {"x": [2, 3, 6, 6]},
        {"y": [2, 4, 6, 6]},
    )
    assert check_same(model, fold_backward)["Add"] == 1


def test_a_result_that_others_read_as_well_stays() -> None:
    nodes = [
        CONV,
        helper.make_node("Mul", ["c", "k"], ["m"]),
        helper.make_node("Add", ["c", "m"], ["y"]),
    ]
    constants = {**WEIGHTS, "k": normal(4, 1, 1)}
    model = network(nodes, constants, {"x": [2, 3, 6, 6]}, {"y": [2, 4, 6, 6]})
    assert check_same(model, fold_backward)["Mul"] == 1


def test_a_result_that_is_an_output_stays() -> None:
    nodes = [CONV, helper.make_node("Mul", ["c", "k"], ["y"])]
    constants = {**WEIGHTS, "k": normal(4, 1, 1)}
    shapes = {"y": [2, 4, 6, 6], "c": [2, 4, 6, 6]}
    model = network(nodes, constants, {"x": [2, 3, 6, 6]}, shapes)
    assert check_same(model, fold_backward)["Mul"] == 1


def test_depthwise_convolutions_take_it_too() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], group=3),
        helper.make_node("Mul", ["c", "k"], ["m"]),
        helper.make_node("Add", ["m", "j"], ["y"]),
    ]
    constants = {"w": normal(3, 1, 3, 3), "k": normal(3, 1, 1), "j": normal(3, 1, 1, seed=1)}
    model = network(nodes, constants, {"x": [2, 3, 6, 6]}, {"y": [2, 3, 4, 4]})
    assert check_same(model, fold_backward) == {"Conv": 1}


@pytest.mark.parametrize("op", ["MatMul", "Gemm", "Gemm-transposed"])
def test_batch_normalisation_behind_a_matrix(op: str) -> None:
    if op == "MatMul":
        node, weight = helper.make_node("MatMul", ["x", "w"], ["c"]), normal(8, 4)
    else:
        transposed = int(op == "Gemm-transposed")
        node = helper.make_node(
            "Gemm", ["x", "w", "b"], ["c"], alpha=0.5, beta=2.0, transB=transposed
        )
        weight = normal(4, 8) if transposed else normal(8, 4)
    nodes = [node, helper.make_node("BatchNormalization", ["c", *BATCHNORM], ["y"])]
    constants = {"w": weight, "b": normal(4), **BATCHNORM}
    model = network(nodes, constants, {"x": [2, 8]}, {"y": [2, 4]})
    assert check_same(model, fold_backward, normal(2, 8, seed=2)) == {"Gemm": 1}


def test_a_product_of_three_dimensions_is_no_layer() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["c"]),
        helper.make_node("Mul", ["c", "k"], ["y"]),
    ]
    constants = {"w": normal(8, 4), "k": np.array(2, np.float32)}
    model = network(nodes, constants, {"x": [2, 5, 8]}, {"y": [2, 5, 4]})
    assert check_same(model, fold_backward, normal(2, 5, 8))["MatMul"] == 1


def test_weights_that_are_computed_stay() -> None:
    nodes = [
        helper.make_node("Relu", ["v"], ["w"]),
        helper.make_node("MatMul", ["x", "w"], ["c"]),
        helper.make_node("Mul", ["c", "k"], ["y"]),
    ]
    model = network(
        nodes, {"k": np.array(2, np.float32)}, {"x": [2, 8], "v": [8, 4]}, {"y": [2, 4]}
    )
    _, operators = after(model, fold_backward)
    assert operators["Mul"] == 1


def test_batch_normalisation_that_trains_stays() -> None:
    outputs = ["y", "running_mean", "running_variance"]
    node = helper.make_node("BatchNormalization", ["c", *BATCHNORM], outputs, training_mode=1)
    _, operators = after(
        network(
            [CONV, node],
            {**WEIGHTS, **BATCHNORM},
            {"x": [2, 3, 6, 6]},
            {"y": [2, 4, 6, 6]},
            opset=15,
        ),
        fold_backward,
    )
    assert operators["BatchNormalization"] == 1


def test_batch_normalisation_with_computed_parameters_stays() -> None:
    nodes = [
        CONV,
        helper.make_node("Abs", ["v"], ["computed"]),
        helper.make_node("BatchNormalization", ["c", "gamma", "beta", "mean", "computed"], ["y"]),
    ]
    inputs = {"x": [2, 3, 6, 6], "v": [4]}
    model = network(nodes, {**WEIGHTS, **BATCHNORM}, inputs, {"y": [2, 4, 6, 6]})
    _, operators = after(model, fold_backward)
    assert operators["BatchNormalization"] == 1


@given(st.lists(st.sampled_from(["Add", "Mul", "Sub", "Bn", "Relu"]), min_size=1, max_size=6))
def test_any_chain_means_the_same(steps: list[str]) -> None:
    nodes, constants, last = [CONV], {**WEIGHTS, **BATCHNORM}, "c"
    for i, step in enumerate(steps):
        result = "y" if i == len(steps) - 1 else f"t{i}"
        constants[f"k{i}"] = normal(4, 1, 1, seed=i)
        match step:
            case "Bn":
                nodes.append(helper.make_node("BatchNormalization", [last, *BATCHNORM], [result]))
            case "Relu":
                nodes.append(helper.make_node("Relu", [last], [result]))
            case _:
                nodes.append(helper.make_node(step, [last, f"k{i}"], [result]))
        last = result
    model = network(nodes, constants, {"x": [2, 3, 6, 6]}, {"y": [2, 4, 6, 6]})
    operators = check_same(model, fold_backward)
    before_relu = steps.index("Relu") if "Relu" in steps else len(steps)
    assert sum(operators.values()) == 1 + len(steps) - before_relu


def before_convs(padded: bool, *, op: str = "Mul", group: int = 1) -> bytes:
    pads = [1, 1, 1, 1] if padded else [0, 0, 0, 0]
    channels = 3 // group
    nodes = [
        helper.make_node(op, ["x", "k"], ["s"]),
        helper.make_node("Conv", ["s", "w"], ["y"], pads=pads, group=group),
        helper.make_node("Conv", ["s", "v"], ["z"], pads=pads, group=group),
    ]
    side = 6 if padded else 4
    constants = {
        "k": normal(3, 1, 1),
        "w": normal(6, channels, 3, 3),
        "v": normal(9, channels, 3, 3, seed=1),
    }
    outputs = {"y": [2, 6, side, side], "z": [2, 9, side, side]}
    return network(nodes, constants, {"x": [2, 3, 6, 6]}, outputs)


@pytest.mark.parametrize("padded", [True, False])
def test_a_scale_before_convolutions(padded: bool) -> None:
    assert check_same(before_convs(padded), fold_scale_forward) == {"Conv": 2}


def test_a_shift_before_convolutions_stays() -> None:
    assert check_same(before_convs(True, op="Sub"), fold_scale_forward)["Sub"] == 1


def test_a_scale_before_grouped_convolutions_stays() -> None:
    assert check_same(before_convs(True, group=3), fold_scale_forward)["Mul"] == 1


def test_a_scale_that_others_read_as_well_stays() -> None:
    nodes = [
        helper.make_node("Mul", ["x", "k"], ["s"]),
        helper.make_node("Conv", ["s", "w"], ["y"]),
        helper.make_node("Relu", ["s"], ["z"]),
    ]
    constants = {"k": normal(3, 1, 1), "w": normal(4, 3, 1, 1)}
    outputs = {"y": [2, 4, 6, 6], "z": [2, 3, 6, 6]}
    model = network(nodes, constants, {"x": [2, 3, 6, 6]}, outputs)
    assert check_same(model, fold_scale_forward)["Mul"] == 1


def test_arithmetic_on_one_number_stays() -> None:
    """It has no channels, and so no layer before it could take it over."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], keepdims=0),
        helper.make_node("Add", ["m", "k"], ["y"]),
    ]
    model = network(nodes, {"k": np.array(2, np.float32)}, {"x": [2, 3, 6, 6]}, {"y": []})
    assert check_same(model, fold_backward)["Add"] == 1
