"""The operator report's rules: measured places, the network as a whole, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from edgefaced_convert.advice import advice
from edgefaced_convert.cli import main
from edgefaced_convert.layer_table import Layer, fallbacks_in, layers_in
from edgefaced_convert.operators import Network, operators_of, read_network
from edgefaced_convert.probe_graphs import probes
from edgefaced_convert.report import as_json, report_on, show
from edgefaced_convert.rules import FALL_BACKS, Verdict, judge, measured
from edgefaced_convert.toolchain import TARGETS
from edgefaced_convert.variants import variant_of

from edgefaced.models.prepare.graph import FREE, Graph, Node, Value
from edgefaced.models.prepare.onnx_file import write_graph

LOG = """
D RKNN: [12:35:09.590] ID OpType DataType Target InputShape OutputShape Cycles RW(KB) FullName
D RKNN: [12:35:09.590] 0    InputOperator      INT8     CPU    \\    (1,3,320,320)  0/0/0   0  In:in
D RKNN: [12:35:09.590] 1    ConvRelu    INT8  NPU  (1,3,320,320),(16,3,3,3),(16)  (1,16,160,160)\
  10488/56448/56448  0%  307  Conv:c1
D RKNN: [12:35:09.590] 2    Reshape     INT8  CPU  (40,40,1,8),(2)  (3200,4)  0/0/0  15  Reshape:r
W RKNN: [13:48:53.504] Transpose will fallback to CPU, because input shape has exceeded the limit!
W RKNN: [13:48:53.505] Transpose will fallback to CPU, because input shape has exceeded the limit!
"""


def network(*nodes: Node, **constants: object) -> Graph:
    """`x` (1, 16, 8, 8) to `y`."""
    graph = Graph(
        17,
        [Value("x", (1, 16, 8, 8), np.dtype(np.float32))],
        [],
        list(nodes),
        {name: np.asarray(value) for name, value in constants.items()},
    )
    graph.outputs = [Value("y", (FREE,) * 4, np.dtype(np.float32))]
    return graph


def test_the_variants_that_are_told_apart_are_those_that_were_measured() -> None:
    for probe in probes():
        found = {(operator.kind, variant_of(operator)) for operator in operators_of(probe.graph())}
        assert (probe.operator, probe.variant) in found
        assert set(measured()[probe.operator, probe.variant]) == set(TARGETS)


def test_softmax_falls_back_on_one_target_and_not_on_another() -> None:
    data = write_graph(network(Node("Softmax", ["x"], ["y"], {"axis": 1})))
    verdicts = {
        target: judge(read_network(data, "n", None), target)[0].verdict for target in TARGETS
    }
    assert verdicts["rk3566"] is Verdict.FALL_BACK
    assert verdicts["rk3588"] is Verdict.COSTLY


@pytest.mark.parametrize(
    ("kind", "attributes", "verdict"),
    [
        ("Relu", {}, Verdict.SUPPORTED),
        ("Erf", {}, Verdict.FALL_BACK),
        ("IsNaN", {}, Verdict.UNKNOWN),
        ("AveragePool", {"kernel_shape": [3, 3], "pads": [1] * 4}, Verdict.FALL_BACK),
        ("AveragePool", {"kernel_shape": [2, 2]}, Verdict.SUPPORTED),
    ],
)
def test_verdicts(kind: str, attributes: dict[str, object], verdict: Verdict) -> None:
    node = Node(kind, ["x"], ["y"], attributes)
    graph = network(node)
    graph.outputs = []
    listed = Network("n", 17, (1, 16, 8, 8), tuple(operators_of(graph)))
    finding = judge(listed, "rk3588")[0]
    assert finding.verdict is verdict
    assert bool(finding.cure) == (verdict is not Verdict.SUPPORTED)
    assert judge(listed, "cpu")[0].verdict is Verdict.SUPPORTED


def variants(*nodes: Node, **constants: object) -> list[tuple[str, str]]:
    return [(o.kind, variant_of(o)) for o in operators_of(network(*nodes, **constants))]


def test_automatic_padding_is_looked_through() -> None:
    weights = np.zeros((16, 16, 3, 3), np.float32)
    for stride, words in ((1, ""), (2, "asymmetric padding")):
        how = {"auto_pad": "SAME_UPPER", "strides": [stride] * 2}
        assert variants(Node("Conv", ["x", "w"], ["y"], how), w=weights) == [("Conv", words)]


def test_a_prelu_is_fused_only_behind_a_filter() -> None:
    slope, bias = np.zeros((16, 1, 1), np.float32), np.zeros((1, 16, 1, 1), np.float32)
    filtered = Node("Conv", ["x", "w"], ["c"], {"kernel_shape": [1, 1]})
    shifted = Node("Add", ["c", "b"], ["s"])
    weights = np.zeros((16, 16, 1, 1), np.float32)
    found = variants(
        filtered, shifted, Node("PRelu", ["s", "k"], ["y"]), w=weights, b=bias, k=slope
    )
    assert found[-1] == ("PRelu", "")
    summed = Node("Add", ["x", "x"], ["s"])
    assert variants(summed, Node("PRelu", ["s", "k"], ["y"]), k=slope)[-1][1] == "behind no filter"


@pytest.mark.parametrize(
    ("how", "factor", "words"),
    [
        ({"mode": "nearest"}, 2.0, ""),
        ({"mode": "nearest"}, 1.5, "by no whole factor"),
        ({"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, 2.0, "linear, from"),
        ({"coordinate_transformation_mode": "align_corners"}, 2.0, "corners aligned"),
    ],
)
def test_resizes_are_told_apart(how: dict[str, str], factor: float, words: str) -> None:
    step = Node("Resize", ["x", "", "by"], ["y"], how)
    ((_, found),) = variants(step, by=np.array([1, 1, factor, factor], np.float32))
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_time_is_no_batch() -> None:
    constants = {"w": np.zeros((1, 24, 8), np.float32), "r": np.zeros((1, 24, 8), np.float32)}
    graph = network(Node("GRU", ["x", "w", "r"], ["y"], {"hidden_size": 8}), **constants)
    graph.inputs = [Value("x", (40, 1, 8), np.dtype(np.float32))]
    graph.outputs = []
    listed = Network("n", 17, (40, 1, 8), tuple(operators_of(graph)))
    assert "batch" not in judge(listed, "rk3588")[0].why


def test_a_network_of_several_inputs_is_reported_on_as_well(tmp_path: Path) -> None:
    graph = network(Node("Add", ["x", "z"], ["y"]))
    graph.inputs.append(Value("z", (1, 16, 8, 8), np.dtype(np.float32)))
    path = tmp_path / "n.onnx"
    path.write_bytes(write_graph(graph))
    with pytest.raises(SystemExit) as exit_info:
        main(["report", str(path), "--target", "rk3588"])
    assert exit_info.value.code == 0


def test_a_batch_above_one_is_unsupported_where_the_list_says_so() -> None:
    graph = network(Node("Softmax", ["x"], ["y"], {}))
    graph.inputs = [Value("x", (4, 16, 8, 8), np.dtype(np.float32))]
    listed = Network("n", 17, (4, 16, 8, 8), tuple(operators_of(graph)))
    assert judge(listed, "rk3588")[0].verdict is Verdict.UNSUPPORTED


def test_five_dimensions_cost() -> None:
    nodes = [
        Node("Reshape", ["x", "five"], ["u"]),
        Node("Relu", ["u"], ["v"]),
        Node("Reshape", ["v", "four"], ["y"]),
    ]
    graph = network(
        *nodes, five=np.array([1, 4, 4, 8, 8], np.int64), four=np.array([1, 16, 8, 8], np.int64)
    )
    found = judge(Network("n", 17, (1, 16, 8, 8), tuple(operators_of(graph))), "rk3588")
    assert "5 dimensions" in found[1].why
    assert found[1].verdict is Verdict.COSTLY


def test_the_network_as_a_whole() -> None:
    found = judge(Network("n", 21, (1, 3, FREE, 9000), ()), "rk3588")
    assert [f.kind for f in found] == ["opset", "dynamic shape", "size"]
    assert found[-1].verdict in FALL_BACKS


def test_foreign_operators_are_named_without_being_understood() -> None:
    onnx = pytest.importorskip("onnx")
    node = onnx.helper.make_node("Twist", ["x"], ["y"], domain="com.example")
    values = [
        onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 3, 8, 8]) for n in "xy"
    ]
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.example", 1)]
    data = onnx.helper.make_model(graph, opset_imports=imports).SerializeToString()
    findings = judge(read_network(data, "n", None), "rk3588")
    assert any(f.verdict is Verdict.UNSUPPORTED and "com.example" in f.why for f in findings)


def test_the_compilers_table_is_read() -> None:
    layers = layers_in(LOG)
    assert [(layer.kind, layer.target, layer.cycles, layer.moved_kb) for layer in layers] == [
        ("InputOperator", "CPU", 0, 0),
        ("ConvRelu", "NPU", 56448, 307),
        ("Reshape", "CPU", 0, 15),
    ]
    assert [layer.on_cpu for layer in layers] == [False, False, True]
    assert len(fallbacks_in(LOG)) == 1
    assert layers_in("nothing") == ()


def test_the_compilers_word_stands_over_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    data = write_graph(network(Node("Erf", ["x"], ["y"])))
    listed = read_network(data, "n", None)
    assert not report_on(listed, "rk3588").clean
    layer = Layer(1, "Erf", "INT8", "NPU", 1, 1, "Erf:y")
    assert report_on(listed, "rk3588", [layer]).clean
    left = report_on(listed, "rk3588", layers_in(LOG), fallbacks_in(LOG))
    assert not left.clean
    assert as_json(left)["toolkit"]["on_cpu"][0]["kind"] == "Reshape"
    show(left)
    assert "1 on the CPU: Reshape" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "code"), [("Relu", 0), ("Erf", 1)])
def test_the_exit_code_says_whether_there_is_a_fall_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, code: int
) -> None:
    path = tmp_path / "n.onnx"
    path.write_bytes(write_graph(network(Node(kind, ["x"], ["y"]))))
    with pytest.raises(SystemExit) as exit_info:
        main(["report", str(path), "--target", "rk3588", "--json"])
    assert exit_info.value.code == code
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is (code == 0)
    assert document["reports"][0]["operators"][0]["kind"] == kind


def test_what_is_no_network_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.onnx"
    for content in (b"no network", b"", b"\x08\x07"):  # the last is a model without operators
        path.write_bytes(content)
        with pytest.raises(SystemExit) as exit_info:
            main(["report", str(path), "--target", "cpu"])
        assert exit_info.value.code == 5
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_every_operator_has_advice() -> None:
    assert advice("Nothing", "").cure
    assert "fused" in advice("PRelu", "").why
