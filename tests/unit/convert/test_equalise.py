"""Channels brought to like ranges: nothing changes in float, and int8 loses less."""

from __future__ import annotations

import numpy as np
import pytest
from edgefaced_convert.equalise import equalised
from edgefaced_convert.inner import inner_tensors
from edgefaced_convert.qdq import quantise

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.prepare.graph import Graph, Node, Value
from edgefaced.models.prepare.onnx_file import read_graph, write_graph
from edgefaced.protocols import Tensor
from edgefaced.types import U8

CHANNELS = 16


def uneven_network() -> bytes:
    """`image` to `y` with channels of which each is up to a hundred times as large as the next.

    A filter, a filter in two groups, one of each channel by itself, and a sum around the last two.
    """
    draw = np.random.default_rng(0)
    sizes = np.logspace(0, -2, CHANNELS)

    def weights(*shape: int, uneven: bool = True) -> Tensor:
        values = draw.standard_normal(shape) / 4
        return (values * (sizes.reshape(-1, 1, 1, 1) if uneven else 1)).astype(np.float32)

    def conv(source: str, name: str, result: str, group: int = 1) -> Node:
        how = {"kernel_shape": [3, 3], "pads": [1] * 4, "group": group}
        return Node("Conv", [source, f"w{name}", f"b{name}"], [result], how)

    biases = {
        f"b{i}": (draw.standard_normal(CHANNELS) * sizes / 9).astype(np.float32) for i in range(4)
    }
    graph = Graph(
        13,
        [Value("image", (1, 16, 16, 3), np.dtype(np.uint8))],
        [Value("y", (1, 8, 16, 16), np.dtype(np.float32))],
        [
            Node("Cast", ["image"], ["float"], {"to": 1}),
            Node("Transpose", ["float"], ["first"], {"perm": [0, 3, 1, 2]}),
            Node("Mul", ["first", "scale"], ["x"]),
            conv("x", "0", "c0"),
            Node("Relu", ["c0"], ["r0"]),
            conv("r0", "1", "c1", group=2),
            Node("PRelu", ["c1", "slope"], ["p1"]),
            conv("p1", "2", "c2", group=CHANNELS),
            Node("Add", ["r0", "c2"], ["sum"]),
            Node("MaxPool", ["sum"], ["pooled"], {"kernel_shape": [3, 3], "pads": [1] * 4}),
            Node("Conv", ["pooled", "w3"], ["y"], {"kernel_shape": [1, 1]}),
        ],
        {
            **biases,
            "scale": np.array(1 / 128, np.float32),
            "slope": np.full((CHANNELS, 1, 1), 0.2, np.float32),
            "w0": weights(CHANNELS, 3, 3, 3),
            "w1": weights(CHANNELS, CHANNELS // 2, 3, 3),
            "w2": weights(CHANNELS, 1, 3, 3),
            "w3": (weights(8, CHANNELS, 1, 1, uneven=False) / sizes.reshape(1, -1, 1, 1)).astype(
                np.float32
            ),
        },
    )
    graph.constants.pop("b3")
    return write_graph(graph)


def pictures(count: int) -> list[U8]:
    draw = np.random.default_rng(1)
    return [draw.integers(0, 256, (16, 16, 3), dtype=np.uint8) for _ in range(count)]


def answer(data: bytes, picture: U8) -> Tensor:
    backend = OnnxBackend(data, threads=1, optimise=True)
    try:
        return np.array(backend.run({"image": picture[np.newaxis]})[0])
    finally:
        backend.close()


@pytest.fixture(scope="module")
def alike() -> bytes:
    return equalised(uneven_network(), [{"image": p[np.newaxis]} for p in pictures(4)])


def spread(data: bytes, name: str) -> float:
    (tensors,) = inner_tensors(data, [name], [{"image": pictures(1)[0][np.newaxis]}])
    top = np.abs(tensors[name]).max(axis=(0, 2, 3))
    return float(top.max() / top.min())


def test_in_float_it_is_the_same_network(alike: bytes) -> None:
    other = pictures(9)[8]
    np.testing.assert_allclose(
        answer(alike, other), answer(uneven_network(), other), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", ["r0", "p1", "pooled"])
def test_the_ranges_of_its_channels_are_closer(alike: bytes, name: str) -> None:
    assert spread(alike, name) < spread(uneven_network(), name) / 4


def test_in_int8_it_loses_less(alike: bytes) -> None:
    other = pictures(9)[8]
    wanted = answer(uneven_network(), other)

    def error(data: bytes) -> float:
        return float(np.abs(answer(quantise(data, pictures(8)), other) - wanted).mean())

    assert error(alike) < error(uneven_network()) / 2


def test_what_lets_no_factor_pass_keeps_its_channels() -> None:
    graph = read_graph(uneven_network())
    relu = next(node for node in graph.nodes if node.op == "Relu")
    relu.op = "Sigmoid"
    data = write_graph(graph)
    same = equalised(data, [{"image": p[np.newaxis]} for p in pictures(2)])
    np.testing.assert_allclose(
        answer(same, pictures(1)[0]), answer(data, pictures(1)[0]), rtol=1e-3, atol=1e-3
    )
    assert spread(same, "c0") == pytest.approx(spread(data, "c0"))
