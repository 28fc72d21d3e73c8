"""Scales and shifts per channel disappear into the convolution or matrix beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgefaced.models.prepare.alignment import dense
from edgefaced.models.prepare.graph import Graph, Node, Shapes
from edgefaced.types import F64

BATCHNORM_EPSILON = 1e-5
"""ONNX's default."""


@dataclass(frozen=True, slots=True)
class Affine:
    """x -> scale x + shift for each channel (axis 1): vectors, or one number for all."""

    scale: F64
    shift: F64


def fold_backward(graph: Graph, shapes: Shapes) -> None:
    """BatchNormalization and arithmetic with constants go into the layer that they follow."""
    while _fold_one_backward(graph, shapes):
        pass


def fold_scale_forward(graph: Graph, shapes: Shapes) -> None:
    """A scale before convolutions goes into their weights.

    A shift cannot: the convolution's padding is zero after the shift, not before.
    """
    for node in [*graph.nodes]:
        if node.op != "Mul" or node.outputs[0] in graph.output_names():
            continue
        readers = graph.users().get(node.outputs[0], [])
        affine = affine_of(node, graph, shapes)
        if affine is None or not readers or not all(dense(r, graph) for r in readers):
            continue
        for reader in readers:
            weight = graph.constants[reader.inputs[1]]
            scale = affine.scale.reshape((1, -1) + (1,) * (weight.ndim - 2))
            reader.inputs[1] = graph.add_constant("weight", (weight * scale).astype(np.float32))
        graph.redirect(node.outputs[0], _source(node, graph))
        graph.remove(node)


def affine_of(node: Node, graph: Graph, shapes: Shapes) -> Affine | None:
    """What a node does, where that is one scale and one shift for each channel."""
    if node.op == "BatchNormalization":
        return _batch_normalization(node, graph)
    if node.op not in ("Add", "Sub", "Mul", "Div"):
        return None
    side = next((i for i, name in enumerate(node.inputs) if name in graph.constants), None)
    if side is None or (side == 0 and node.op == "Div"):
        return None
    value = graph.constants[node.inputs[side]]
    result = shapes[node.outputs[0]]
    if shapes[_source(node, graph)] != result or len(result) < 2:
        return None
    if value.size not in (1, result[1]):
        return None
    shape = (1,) * (len(result) - value.ndim) + value.shape
    if any(s != 1 for axis, s in enumerate(shape) if axis != 1):
        return None
    number = value.astype(np.float64).reshape(-1)
    one, nought = np.ones_like(number), np.zeros_like(number)
    match node.op, side:
        case "Add", _:
            return Affine(one, number)
        case "Sub", 1:
            return Affine(one, -number)
        case "Sub", _:
            return Affine(-one, number)
        case "Mul", _:
            return Affine(number, nought)
        case _:
            return Affine(one / number, nought)


def _batch_normalization(node: Node, graph: Graph) -> Affine | None:
    if node.attributes.get("training_mode", 0):
        return None
    if not all(name in graph.constants for name in node.inputs[1:]):
        return None
    gamma, beta, mean, variance = (
        graph.constants[name].astype(np.float64) for name in node.inputs[1:]
    )
    scale = gamma / np.sqrt(variance + node.attributes.get("epsilon", BATCHNORM_EPSILON))
    return Affine(scale, beta - mean * scale)


def _source(node: Node, graph: Graph) -> str:
    return next(name for name in node.inputs if name not in graph.constants)


def _fold_one_backward(graph: Graph, shapes: Shapes) -> bool:
    makers, users, kept = graph.producers(), graph.users(), graph.output_names()
    for node in graph.nodes:
        affine = affine_of(node, graph, shapes)
        if affine is None:
            continue
        source = _source(node, graph)
        maker = makers.get(source)
        if maker is None or len(users[source]) != 1 or source in kept:
            continue
        if _takes_affine(maker, graph, shapes):
            _absorb(maker, affine, graph)
            maker.outputs = [node.outputs[0]]
            graph.remove(node)
            return True
    return False


def _takes_affine(node: Node, graph: Graph, shapes: Shapes) -> bool:
    """A layer with constant weights and a bias, if any, that is one vector."""
    if node.op not in ("Conv", "Gemm", "MatMul") or len(shapes[node.inputs[0]]) < 2:
        return False
    if node.op == "MatMul" and len(shapes[node.inputs[0]]) != 2:
        return False
    if not all(name in graph.constants for name in node.inputs[1:]):
        return False
    return all(graph.constants[name].ndim == 1 for name in node.inputs[2:])


def _absorb(node: Node, affine: Affine, graph: Graph) -> None:
    """Weights and bias of a layer that does what it did and the scale and shift after it."""
    weight = graph.constants[node.inputs[1]].astype(np.float64)
    by_rows = node.op == "Conv" or bool(node.attributes.get("transB", 0))
    channels = weight.shape[0 if by_rows else 1]
    scale = np.broadcast_to(affine.scale, (channels,))
    along = scale.reshape((-1,) + (1,) * (weight.ndim - 1)) if by_rows else scale
    bias = np.zeros(1)
    if len(node.inputs) > 2:
        bias = graph.constants[node.inputs[2]].astype(np.float64)
    weight = weight * along * node.attributes.get("alpha", 1.0)
    bias = bias * node.attributes.get("beta", 1.0) * scale + affine.shift
    if node.op == "MatMul":
        node.op = "Gemm"
    if node.op == "Gemm":
        node.attributes = {k: v for k, v in node.attributes.items() if k.startswith("trans")}
    node.inputs = [
        node.inputs[0],
        graph.add_constant("weight", weight.astype(np.float32)),
        graph.add_constant("bias", np.broadcast_to(bias, (channels,)).astype(np.float32)),
    ]
