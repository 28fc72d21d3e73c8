"""Networks of a few operators, one for each that is probed: convolution, it, convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgefaced.models.prepare.graph import Graph, Node, Value
from edgefaced.models.prepare.onnx_file import infer_shapes

CHANNELS, SIDE = 16, 28
OPSET = 17

Constants = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Probe:
    """One operator in one variant: what lies between tensors `x` and `y`."""

    operator: str
    variant: str
    nodes: tuple[Node, ...]
    constants: Constants
    channels: int | None = CHANNELS
    """Of `y`; None where it is the network's output."""
    side: int = SIDE

    def graph(self) -> Graph:
        """The whole network."""
        draw = np.random.default_rng(0)
        constants = {"first": _filter(draw, CHANNELS, 3), **self.constants}
        nodes = [_conv("input", "first", "x"), *self.nodes]
        output = "y"
        if self.channels is not None:
            constants["last"] = _filter(draw, 8, self.channels)
            nodes.append(_conv("y", "last", "output"))
            output = "output"
        picture = Value("input", (1, 3, self.side, self.side), np.dtype(np.float32))
        graph = Graph(OPSET, [picture], [], nodes, constants)
        graph.outputs = [Value(output, infer_shapes(graph)[output], picture.dtype)]
        return graph


def probes() -> tuple[Probe, ...]:
    """All that is probed."""
    draw = np.random.default_rng(1)
    each = draw.random((1, CHANNELS, 1, 1)).astype(np.float32) + 1
    plane = draw.random((1, CHANNELS, SIDE, SIDE)).astype(np.float32)
    per_channel = {f"p{i}": draw.random(CHANNELS).astype(np.float32) + 1 for i in range(4)}
    simple = (
        *("Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "Elu", "Selu"),
        *("Softplus", "Exp", "Abs", "Neg", "Erf", "Floor", "Sin", "Reciprocal", "Softmax"),
        *("GlobalAveragePool", "GlobalMaxPool", "LpNormalization"),
    )
    found = [_one(kind) for kind in simple]
    for kind in ("Sqrt", "Log"):  # of nothing below one
        steps = [_node("Relu", ["x"], "positive"), _node("Add", ["positive", "k"], "above")]
        found.append(_probe(kind, "", [*steps, _node(kind, ["above"], "y")], {"k": each}))
    for kind in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"):
        steps = [_node("Relu", ["x"], "positive"), _node(kind, ["positive", "k"], "y")]
        found.append(_probe(kind, "", steps, {"k": each}))
    for kind in ("Div", "Pow"):
        steps = [_node("Sigmoid", ["x"], "gate"), _node(kind, ["gate", "gate"], "y")]
        found.append(_probe(kind, "of two tensors", steps, {}))
    found += [*_convolutions(draw), *_resizes(), *_shapes(), *_sequences(draw)]
    found += [
        _probe("PRelu", "", [_node("PRelu", ["x", "k"], "y")], {"k": each[0]}),
        _probe(
            "PRelu",
            "behind no filter",
            [_pool("MaxPool", "pooled"), _node("PRelu", ["pooled", "k"], "y")],
            {"k": each[0]},
        ),
        _probe("Clip", "", [_node("Clip", ["x", "lo", "hi"], "y")], _ends(0, 6)),
        _probe(
            "BatchNormalization",
            "",
            [
                _node("Relu", ["x"], "positive"),
                _node("BatchNormalization", ["positive", *per_channel], "y"),
            ],
            per_channel,
        ),
        _probe(
            "InstanceNormalization",
            "",
            [_node("InstanceNormalization", ["x", "p0", "p1"], "y")],
            {name: per_channel[name] for name in ("p0", "p1")},
        ),
        _probe("MaxPool", "", [_pool("MaxPool")], {}),
        _probe("AveragePool", "", [_pool("AveragePool")], {}),
        _probe("AveragePool", "padding not counted", [_pool("AveragePool", pads=[1] * 4)], {}),
        _probe("ReduceMean", "", [_node("ReduceMean", ["x"], "y", axes=[2, 3])], {}),
        _probe("ReduceMax", "", [_node("ReduceMax", ["x"], "y", axes=[2, 3])], {}),
        _probe("ReduceL2", "", [_node("ReduceL2", ["x"], "y", axes=[1])], {}, channels=1),
        _probe(
            "ArgMax",
            "",
            [_node("ArgMax", ["x"], "place", axis=1), _node("Cast", ["place"], "y", to=1)],
            {},
            channels=None,
        ),
        _probe("Where", "", _where(), {"zero": plane * 0}),
        _probe(
            "GridSample",
            "",
            [_node("GridSample", ["x", "grid"], "y")],
            {"grid": draw.random((1, SIDE, SIDE, 2)).astype(np.float32)},
        ),
    ]
    return tuple(found)


def _convolutions(draw: np.random.Generator) -> list[Probe]:
    kinds = {
        "": {"kernel_shape": [3, 3], "pads": [1] * 4},
        "asymmetric padding": {"kernel_shape": [3, 3], "pads": [0, 0, 2, 2]},
        "large kernel": {"kernel_shape": [17, 17], "pads": [8] * 4},
    }
    found = []
    for variant, how in kinds.items():
        weights = {"w": _filter(draw, CHANNELS, CHANNELS, how["kernel_shape"][0])}
        found.append(_probe("Conv", variant, [_node("Conv", ["x", "w"], "y", **how)], weights))
    twice = _node("ConvTranspose", ["x", "w"], "y", kernel_shape=[2, 2], strides=[2, 2])
    found.append(_probe("ConvTranspose", "", [twice], {"w": _filter(draw, CHANNELS, CHANNELS, 2)}))
    wide = CHANNELS * SIDE * SIDE
    weights = {"w": (draw.standard_normal((64, wide)) / 100).astype(np.float32)}
    gemm = [_node("Flatten", ["x"], "flat"), _node("Gemm", ["flat", "w"], "y", transB=1)]
    found.append(_probe("Gemm", "", gemm, weights, channels=None))
    rows = {"rows": np.array([1, CHANNELS, SIDE * SIDE], np.int64)}
    product = [
        _node("Reshape", ["x", "rows"], "left"),
        _node("Transpose", ["left"], "right", perm=[0, 2, 1]),
        _node("MatMul", ["left", "right"], "y"),
    ]
    layer = [_node("Flatten", ["x"], "flat"), _node("MatMul", ["flat", "w"], "y")]
    return [
        *found,
        _probe("MatMul", "", layer, {"w": weights["w"].T}, channels=None),
        _probe("MatMul", "of two tensors", product, rows, channels=None),
    ]


def _sequences(draw: np.random.Generator) -> list[Probe]:
    """What recurrent networks and attention are made of."""
    hidden = 8
    rows = {"rows": np.array([1, CHANNELS, SIDE * SIDE], np.int64), "axes": np.array([1])}
    steps = [
        _node("Reshape", ["x", "rows"], "flat"),
        _node("Transpose", ["flat"], "steps", perm=[2, 0, 1]),
    ]
    found: list[Probe] = []
    for kind, gates in (("LSTM", 4), ("GRU", 3)):
        wide = (1, gates * hidden)
        weights = {
            "input_weights": draw.standard_normal((*wide, CHANNELS)).astype(np.float32) / 5,
            "hidden_weights": draw.standard_normal((*wide, hidden)).astype(np.float32) / 5,
        }
        cell = _node(kind, ["steps", *weights], "states", hidden_size=hidden)
        nodes = [*steps, cell, _node("Squeeze", ["states", "axes"], "y")]
        found.append(_probe(kind, "", nodes, {**rows, **weights}, channels=None))
    mixing = {"w": draw.standard_normal((CHANNELS, CHANNELS)).astype(np.float32) / 5}
    norm = {name: draw.random(SIDE).astype(np.float32) + 1 for name in ("gain", "shift")}
    one = {"axes": np.array([0], np.int64)}
    there_and_back = [_node("Squeeze", ["x", "axes"], "z"), _node("Unsqueeze", ["z", "axes"], "y")]
    return [
        *found,
        _probe("Einsum", "", [_node("Einsum", ["x", "w"], "y", equation="nchw,oc->nohw")], mixing),
        _probe(
            "LayerNormalization",
            "",
            [_node("LayerNormalization", ["x", "gain", "shift"], "y")],
            norm,
        ),
        _probe(
            "ReduceSum", "", [_node("ReduceSum", ["x", "axes"], "y")], {"axes": np.array([2, 3])}
        ),
        _probe("Squeeze", "", there_and_back, one),
        _probe("Unsqueeze", "", there_and_back, one),
    ]


def _resizes() -> list[Probe]:
    ways = {
        "": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"},
        "linear": {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
        "linear, corners aligned": {
            "mode": "linear",
            "coordinate_transformation_mode": "align_corners",
        },
        "corners aligned": {
            "mode": "nearest",
            "coordinate_transformation_mode": "align_corners",
        },
        "linear, from the corner": {
            "mode": "linear",
            "coordinate_transformation_mode": "asymmetric",
        },
        "cubic": {"mode": "cubic", "coordinate_transformation_mode": "half_pixel"},
    }
    twice = {"by": np.array([1, 1, 2, 2], np.float32)}
    half_more = {"by": np.array([1, 1, 1.5, 1.5], np.float32)}
    found = [
        _probe("Resize", variant, [_node("Resize", ["x", "", "by"], "y", **how)], twice)
        for variant, how in ways.items()
    ]
    for variant, mode in (("", ""), ("linear", "linear, ")):
        step = _node("Resize", ["x", "", "by"], "y", **ways[variant])
        found.append(_probe("Resize", f"{mode}by no whole factor", [step], half_more))
    return found


def _shapes() -> list[Probe]:
    def numbers(**values: Sequence[int]) -> Constants:
        return {name: np.array(value, np.int64) for name, value in values.items()}

    half = SIDE // 2
    return [
        _probe("Transpose", "", [_node("Transpose", ["x"], "y", perm=[0, 1, 3, 2])], {}),
        _probe(
            "Reshape",
            "",
            [_node("Reshape", ["x", "to"], "y")],
            numbers(to=[1, CHANNELS, half, 2 * SIDE]),
        ),
        _probe(
            "Reshape",
            "to fewer dimensions",
            [
                _node("Transpose", ["x"], "last", perm=[2, 3, 0, 1]),
                _node("Reshape", ["last", "to"], "y"),
            ],
            numbers(to=[-1, 4]),
            channels=None,
        ),
        _probe("Flatten", "", [_node("Flatten", ["x"], "y")], {}, channels=None),
        _probe(
            "Concat",
            "",
            [_node("Relu", ["x"], "positive"), _node("Concat", ["x", "positive"], "y", axis=1)],
            {},
            channels=2 * CHANNELS,
        ),
        _probe(
            "Split",
            "",
            [
                Node("Split", ["x", "parts"], ["u", "v"], {"axis": 1}),
                _node("Mul", ["u", "v"], "y"),
            ],
            numbers(parts=[8, 8]),
            channels=8,
        ),
        _probe(
            "Slice",
            "",
            [_node("Slice", ["x", "from", "upto", "axis"], "y")],
            numbers(**{"from": [2], "upto": [10], "axis": [1]}),
            channels=8,
        ),
        _probe(
            "Slice",
            "with steps",
            [_node("Slice", ["x", "from", "upto", "axis", "step"], "y")],
            numbers(**{"from": [0, 0], "upto": [SIDE, SIDE], "axis": [2, 3], "step": [2, 2]}),
        ),
        _probe(
            "Gather",
            "",
            [_node("Gather", ["x", "which"], "y", axis=1)],
            numbers(which=list(range(CHANNELS))[::-1]),
        ),
        _probe(
            "Pad",
            "",
            [_node("Pad", ["x", "pads", "zero"], "y", mode="constant")],
            {**numbers(pads=[0, 0, 1, 1, 0, 0, 1, 1]), "zero": np.array(0, np.float32)},
        ),
        _probe(
            "Pad",
            "reflect",
            [_node("Pad", ["x", "pads"], "y", mode="reflect")],
            numbers(pads=[0, 0, 1, 1, 0, 0, 1, 1]),
        ),
        _probe(
            "DepthToSpace", "", [_node("DepthToSpace", ["x"], "y", blocksize=2)], {}, channels=4
        ),
        _probe(
            "SpaceToDepth", "", [_node("SpaceToDepth", ["x"], "y", blocksize=2)], {}, channels=64
        ),
        _probe(
            "TopK",
            "",
            [
                _node("Reshape", ["x", "to"], "flat"),
                Node("TopK", ["flat", "ten"], ["y", "places"], {}),
            ],
            numbers(to=[1, -1], ten=[10]),
            channels=None,
        ),
        _probe(
            "Cast",
            "",
            [_node("Cast", ["x"], "whole", to=6), _node("Cast", ["whole"], "y", to=1)],
            {},
        ),
    ]


def _where() -> list[Node]:
    return [
        _node("Greater", ["x", "zero"], "above"),
        _node("Where", ["above", "x", "zero"], "y"),
    ]


def _one(kind: str) -> Probe:
    return _probe(kind, "", [_node(kind, ["x"], "y")], {})


def _probe(
    operator: str,
    variant: str,
    nodes: Sequence[Node],
    constants: Constants,
    channels: int | None = CHANNELS,
) -> Probe:
    return Probe(operator, variant, tuple(nodes), constants, channels)


def _node(kind: str, inputs: list[str], output: str, **attributes: Any) -> Node:
    return Node(kind, inputs, [output], attributes)


def _conv(source: str, weights: str, result: str) -> Node:
    return _node("Conv", [source, weights], result, kernel_shape=[3, 3], pads=[1] * 4)


def _pool(kind: str, result: str = "y", **how: Any) -> Node:
    return _node(kind, ["x"], result, kernel_shape=[3, 3], strides=[2, 2], **how)


def _ends(low: float, high: float) -> Constants:
    return {"lo": np.array(low, np.float32), "hi": np.array(high, np.float32)}


def _filter(draw: np.random.Generator, out: int, into: int, side: int = 3) -> NDArray[np.float32]:
    return (draw.standard_normal((out, into, side, side)) / 10).astype(np.float32)
