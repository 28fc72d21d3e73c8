from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from networks import answers, network, normal
from onnx import helper

from edgefaced.errors import ModelContractError
from edgefaced.models.prepare.graph import FREE, Graph, Node, Value
from edgefaced.models.prepare.onnx_file import OLDEST_OPSET, infer_shapes, read_graph, write_graph

CONV = helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1])
WEIGHT = normal(4, 3, 3, 3)


def conv(*, listed: bool = False) -> bytes:
    inputs: dict[str, Sequence[int | str]] = {"x": ["n", 3, 8, 8]}
    outputs = {"y": [1, 4, 4, 4]}
    return network([CONV], {"w": WEIGHT}, inputs, outputs, listed=listed)


def test_what_is_read_is_written_again() -> None:
    graph = read_graph(conv())
    assert graph.inputs == [Value("x", (FREE, 3, 8, 8), np.dtype(np.float32))]
    assert graph.nodes[0].attributes == {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    x = normal(1, 3, 8, 8, seed=1)
    written = write_graph(graph)
    onnx.checker.check_model(onnx.load_model_from_string(written), full_check=True)
    np.testing.assert_array_equal(answers(conv(), {"x": x})["y"], answers(written, {"x": x})["y"])


def test_listed_weights_are_no_inputs() -> None:
    assert [v.name for v in read_graph(conv(listed=True)).inputs] == ["x"]


def test_inputs_that_nothing_reads_are_none() -> None:
    model = onnx.load_model_from_string(conv())
    model.graph.input.append(helper.make_tensor_value_info("gone", onnx.TensorProto.FLOAT, [4]))
    assert [v.name for v in read_graph(model.SerializeToString()).inputs] == ["x"]


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        ("value", onnx.numpy_helper.from_array(np.array([1, 2], np.int64)), [1, 2]),
        ("value_float", 1.5, 1.5),
        ("value_floats", [1.5, 2.5], [1.5, 2.5]),
        ("value_int", 3, 3),
        ("value_ints", [3, 4], [3, 4]),
    ],
)
def test_constants_in_every_spelling(attribute: str, value: object, expected: object) -> None:
    constant = helper.make_node("Constant", [], ["c"])
    constant.attribute.append(helper.make_attribute(attribute, value))
    use = helper.make_node("Add", ["x", "c"], ["y"])
    graph = read_graph(network([constant, use], {}, {"x": [2]}, {"y": [2]}))
    assert graph.constants["c"].tolist() == expected
    assert [node.op for node in graph.nodes] == ["Add"]


def test_a_constant_that_is_text_is_refused() -> None:
    constant = helper.make_node("Constant", [], ["c"], value_string=b"text")
    use = helper.make_node("Add", ["x", "c"], ["y"])
    with pytest.raises(ModelContractError, match="value_string"):
        read_graph(network([constant, use], {}, {"x": [2]}, {"y": [2]}))


def test_what_is_not_onnx_is_refused() -> None:
    with pytest.raises(ModelContractError, match="not an ONNX file"):
        read_graph(b"\xff\xfe this is no protobuf")


def test_operators_of_others_are_refused() -> None:
    node = helper.make_node("FusedConv", ["x", "w"], ["y"], domain="com.microsoft")
    with pytest.raises(ModelContractError, match=r"'com\.microsoft'"):
        read_graph(network([node], {"w": WEIGHT}, {"x": [1, 3, 8, 8]}, {"y": [1]}))


def test_branches_are_refused() -> None:
    branch = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"])],
        "branch",
        [],
        [helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [1])],
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    with pytest.raises(ModelContractError, match="'If'"):
        read_graph(network([node], {"c": np.array(True)}, {"x": [1]}, {"y": [1]}))


def test_weights_in_another_file_are_refused() -> None:
    model = onnx.load_model_from_string(conv())
    onnx.external_data_helper.set_external_data(model.graph.initializer[0], "../secret")
    with pytest.raises(ModelContractError, match="'w' lies in another file"):
        read_graph(model.SerializeToString())


def test_old_files_are_raised() -> None:
    """Opset 9 with Upsample, which later became Resize."""
    nodes = [
        helper.make_node("Upsample", ["x", "scales"], ["u"], mode="nearest"),
        helper.make_node("Relu", ["u"], ["y"]),
    ]
    scales = np.array([1, 1, 2, 2], np.float32)
    old = network(nodes, {"scales": scales}, {"x": [1, 3, 4, 4]}, {"y": [1, 3, 8, 8]}, opset=9)
    graph = read_graph(old)
    assert graph.opset == OLDEST_OPSET
    assert "Resize" in [node.op for node in graph.nodes]
    x = normal(1, 3, 4, 4)
    np.testing.assert_array_equal(
        answers(write_graph(graph), {"x": x})["y"], np.maximum(x.repeat(2, 2).repeat(2, 3), 0)
    )


def test_old_files_that_cannot_be_raised_are_one_line() -> None:
    made_up = network(
        [helper.make_node("Frobnicate", ["x"], ["y"])], {}, {"x": [1]}, {"y": [1]}, opset=9
    )
    with pytest.raises(ModelContractError, match="cannot be raised to opset 11") as raised:
        read_graph(made_up)
    assert "\n" not in str(raised.value)


def test_shapes_that_do_not_fit_are_one_line() -> None:
    add = helper.make_node("Add", ["x", "k"], ["y"])
    graph = read_graph(network([add], {"k": normal(1, 5)}, {"x": [1, 3]}, {"y": [1, 3]}))
    with pytest.raises(ModelContractError, match="shapes do not fit") as raised:
        infer_shapes(graph)
    assert "\n" not in str(raised.value)


def test_tidy_drops_what_no_output_needs() -> None:
    graph = Graph(
        13,
        [Value("x", (1,), np.dtype(np.float32))],
        [Value("y", (1,), np.dtype(np.float32))],
        [Node("Add", ["x", "c"], ["y"]), Node("Mul", ["x", "d"], ["z"])],
        {"c": np.ones(1, np.float32), "d": np.ones(1, np.float32)},
    )
    graph.tidy()
    assert [node.op for node in graph.nodes] == ["Add"]
    assert [*graph.constants] == ["c"]


def test_new_names_are_new() -> None:
    graph = read_graph(conv())
    first = graph.add_constant("w", np.zeros(1))
    second = graph.add_constant("w", np.zeros(1))
    assert len({first, second, "w", "x", "y"}) == 5
