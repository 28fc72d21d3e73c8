"""Quantising a small real network for a CPU, and the search around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from edgefaced_convert.cpu_road import compare_layers, of_free_size, with_activations
from edgefaced_convert.layer_errors import LayerError, first_bad, parse_table, worst_first
from edgefaced_convert.qdq import node_names, quantise
from edgefaced_convert.road import Built, Plan
from edgefaced_convert.search import search
from edgefaced_convert.toolchain import ConvertError

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.prepare.graph import FREE, Graph, Node, Value
from edgefaced.models.prepare.onnx_file import write_graph
from edgefaced.protocols import InferenceBackend, Tensor
from edgefaced.types import U8

TABLE = """
layer_name                 simulator_error
                       entire              single
                    cos      euc        cos      euc
-------------------------------------------------------------------------
[Input] input.1                  1.00000 | 0.00000   1.00000 | 0.00000
[exDataConvert] input.1_int8     1.00000 | 2.16506   1.00000 | 2.16506
[Conv] 286
[Relu] 288                       0.99996 | 1.31815   0.99996 | 1.31815
[Conv] 291                       0.98100 | 8.36711   0.99940 | 7.92559
[Conv] 294                       0.97000 | 8.36711   0.95000 | 7.92559
"""


def small_network() -> bytes:
    """`image` (1, 32, 32, 3) uint8 to `y` (1, 8, 32, 32)."""
    draw = np.random.default_rng(0)

    def weights(*shape: int) -> Tensor:
        return (draw.standard_normal(shape) / 4).astype(np.float32)

    graph = Graph(
        12,
        [Value("image", (1, 32, 32, 3), np.dtype(np.uint8))],
        [Value("y", (FREE,) * 4, np.dtype(np.float32))],
        [
            Node("Cast", ["image"], ["float"], {"to": 1}),
            Node("Transpose", ["float"], ["first"], {"perm": [0, 3, 1, 2]}),
            Node("Mul", ["first", "scale"], ["x"]),
            Node("Conv", ["x", "w1"], ["c1"], {"kernel_shape": [3, 3], "pads": [1] * 4}),
            Node("Relu", ["c1"], ["r1"]),
            Node("Conv", ["r1", "w2"], ["y"], {"kernel_shape": [3, 3], "pads": [1] * 4}),
        ],
        {
            "scale": np.array(1 / 128, np.float32),
            "w1": weights(16, 3, 3, 3),
            "w2": weights(8, 16, 3, 3),
        },
    )
    return write_graph(graph)


def pictures(count: int) -> list[U8]:
    draw = np.random.default_rng(1)
    return [draw.integers(0, 256, (32, 32, 3), dtype=np.uint8) for _ in range(count)]


def answer(data: bytes, picture: U8) -> Tensor:
    backend = OnnxBackend(data, threads=1, optimise=True)
    try:
        return np.array(backend.run({"image": picture[np.newaxis]})[0])
    finally:
        backend.close()


def cosine(a: Tensor, b: Tensor) -> float:
    return float(a.ravel() @ b.ravel() / np.linalg.norm(a) / np.linalg.norm(b))


def operators(data: bytes) -> list[str]:
    onnx = pytest.importorskip("onnx")
    return [node.op_type for node in onnx.load_model_from_string(data).graph.node]


def test_a_quantised_network_says_nearly_the_same() -> None:
    plain = small_network()
    quantised = quantise(plain, pictures(8))
    other = pictures(9)[8]
    assert cosine(answer(plain, other), answer(quantised, other)) > 0.995
    assert operators(quantised).count("QuantizeLinear") >= 2


def test_a_quantised_detector_follows_the_size_of_the_picture() -> None:
    plain = small_network()
    quantised = quantise(plain, pictures(8))
    free = of_free_size(quantised)
    (square,) = pictures(1)
    np.testing.assert_array_equal(answer(free, square), answer(quantised, square))
    wide = np.concatenate([square, square[:, ::-1]], axis=1)
    assert answer(free, wide).shape == (1, 8, 32, 64)
    assert cosine(answer(of_free_size(plain), wide), answer(free, wide)) > 0.995


def test_what_is_named_stays_in_float_and_the_layers_tell() -> None:
    plain = small_network()
    first, second = node_names(plain, ("Conv",))
    assert with_activations(plain, [first]) == [first, *node_names(plain, ("Relu",))]
    assert with_activations(plain, [second]) == [second]
    whole = quantise(plain, pictures(8))
    mixed = quantise(plain, pictures(8), in_float=[second])
    other = pictures(9)[8:]
    errors = compare_layers(plain, whole, other)
    assert [error.name for error in errors] == [first, second]
    assert all(0.99 < error.cosine <= 1 for error in errors)
    kept = compare_layers(plain, mixed, other)
    assert kept[1].cosine >= errors[1].cosine
    assert operators(mixed).count("DequantizeLinear") < operators(whole).count("DequantizeLinear")


def test_the_toolkits_table_names_the_first_bad_layer() -> None:
    errors = parse_table(TABLE)
    assert [error.name for error in errors] == ["input.1", "input.1_int8", "288", "291", "294"]
    bad = first_bad(errors)
    assert bad is not None
    assert bad.name == "291"
    assert [error.name for error in worst_first(errors)] == ["294", "291", "288"]
    assert first_bad(errors[:3]) is None


class PretendRoad:
    """Quantises nothing: its layers lose what it was told, its heads are named."""

    algorithms = ("usual", "other")
    base = "other"
    ends = (("first",), ("last",))

    def __init__(self, heads: tuple[str, ...] = ()) -> None:
        self.heads = heads
        self.tried: list[Plan] = []

    @contextmanager
    def built(self, plan: Plan) -> Iterator[Built]:
        self.tried.append(plan)
        backend: InferenceBackend = OnnxBackend(small_network(), threads=1, optimise=False)
        errors = [LayerError(f"layer{i}", "Conv", 0.98, 0.90 + i / 1000) for i in range(40)]
        yield Built(b"", (), backend, lambda: errors)
        backend.close()


def test_int8_tries_every_way_to_choose_ranges_and_refuses_with_the_way_out() -> None:
    road, said = PretendRoad(("head",)), list[str]()
    with (
        pytest.raises(ConvertError, match="after 2 attempts: too bad") as caught,
        search(road, "int8", lambda built: (0.9, "too bad"), said.append),
    ):
        raise AssertionError("nothing was found")
    assert "layer0" in caught.value.hint
    assert "QAT" in caught.value.hint
    assert [plan.algorithm for plan in road.tried] == ["usual", "other"]
    assert len(said) == 2


def test_mixed_precision_gives_up_heads_first_then_the_worst_layers() -> None:
    road = PretendRoad(("head",))

    def judge(built: Built) -> tuple[int, str]:
        kept = len(road.tried[-1].in_float)
        return kept, "" if kept >= 5 else "too bad"

    with search(road, "mixed", judge, lambda line: None) as found:
        assert found.plan.in_float == ("head", "layer0", "layer1", "layer2", "layer3")
        assert found.plan.precision == "mixed"
        assert found.figures == 5
    assert [len(plan.in_float) for plan in road.tried] == [0, 0, 1, 5]
    assert [attempt.fault for attempt in found.attempts] == ["too bad"] * 3 + [""]


def test_an_embedder_gives_up_its_ends_first_then_the_worst_layers_too() -> None:
    road = PretendRoad()

    def judge(built: Built) -> tuple[int, str]:
        return 0, "" if "layer3" in road.tried[-1].in_float else "too bad"

    with search(road, "mixed", judge, lambda line: None) as found:
        assert found.plan.in_float == ("first", "last", "layer0", "layer1", "layer2", "layer3")
        assert "first and last" in found.plan.words
    assert [plan.in_float for plan in road.tried[2:4]] == [("last",), ("first", "last")]


def test_mixed_precision_stops_at_int8_where_that_holds() -> None:
    road = PretendRoad()
    with search(road, "mixed", lambda built: (1, ""), lambda line: None) as found:
        assert found.plan.precision == "int8"
    assert len(road.tried) == 1


def test_mixed_precision_is_refused_where_no_choice_helps() -> None:
    road = PretendRoad()
    with (
        pytest.raises(ConvertError, match="after 7 attempts"),
        search(road, "mixed", lambda built: (0, "too bad"), lambda line: None),
    ):
        raise AssertionError("nothing was found")
