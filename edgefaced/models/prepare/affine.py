"""Scales and shifts per channel disappear into the convolution or matrix beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgefaced.models.prepare.graph import Graph, Node
from edgefaced.types import F64


IMAGE_RANK = 4


@dataclass(frozen=True, slots=True)
class Affine:
    """x -> scale x + shift for each channel (a vector, or one number for all)."""

    scale: F64
    shift: F64


def affine_of(node: Node, graph: Graph, axis_rank: int) -> Affine | None:
    """What a node does, where that is one scale and shift per channel of a tensor of this rank."""
    if node.op == "BatchNormalization":
        if node.attributes.get("training_mode", 0) or not all(
            name in graph.constants for name in node.inputs[1:5]
        ):
            return None
        gamma, beta, mean, variance = (
            graph.constants[name].astype(np.float64) for name in node.inputs[1:5]
        )
        scale = gamma / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
        return Affine(scale, beta - mean * scale)
    if node.op not in ("Add", "Sub", "Mul", "Div") or len(node.inputs) != 2:
        return None
    side = next((i for i, name in enumerate(node.inputs) if name in graph.constants), None)
    if side is None or (side == 0 and node.op == "Div"):
        return None
    value = graph.constants[node.inputs[side]]
    shape = (1,) * (axis_rank - value.ndim) + value.shape
    if len(shape) != axis_rank or any(s != 1 for i, s in enumerate(shape) if i != 1):
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


def fold_backward(graph: Graph) -> None:
    """BatchNormalization and arithmetic with constants go into the layer that they follow."""
    while _fold_one_backward(graph):
        pass


def fold_scale_forward(graph: Graph) -> None:
    """A scale before convolutions goes into their weights.

    A shift cannot: the convolution's padding is zero after the shift, not before.
    """
    for node in [*graph.nodes]:
        if node.op != "Mul" or node.outputs[0] in graph.output_names():
            continue
        readers = graph.users().get(node.outputs[0], [])
        affine = affine_of(node, graph, IMAGE_RANK)
        if affine is None or not readers or not all(_takes_scale(r, graph) for r in readers):
            continue
        source = next(name for name in node.inputs if name not in graph.constants)
        for reader in readers:
            weight = graph.constants[reader.inputs[1]]
            scale = affine.scale.reshape((1, -1) + (1,) * (weight.ndim - 2))
            reader.inputs[1] = graph.add_constant("weight", (weight * scale).astype(np.float32))
        graph.redirect(node.outputs[0], source)
        graph.remove(node)


def _takes_scale(node: Node, graph: Graph) -> bool:
    return (
        node.op == "Conv"
        and node.attributes.get("group", 1) == 1
        and node.inputs[1] in graph.constants
    )


def _fold_one_backward(graph: Graph) -> bool:
    producers, users, kept = graph.producers(), graph.users(), graph.output_names()
    for node in graph.nodes:
        source = next((n for n in node.inputs if n not in graph.constants), "")
        maker = producers.get(source)
        if maker is None or len(users[source]) != 1 or source in kept:
            continue
        rank = _rank_of_result(maker, graph)
        if rank == 0:
            continue
        affine = affine_of(node, graph, rank)
        if affine is not None and _absorb(maker, affine, graph):
            maker.outputs = [*node.outputs[:1]]
            graph.remove(node)
            return True
    return False


def _rank_of_result(node: Node, graph: Graph) -> int:
    if len(node.inputs) < 2 or node.inputs[1] not in graph.constants:
        return 0
    if node.op == "Conv":
        return int(graph.constants[node.inputs[1]].ndim)
    return 2 if node.op in ("Gemm", "MatMul") and graph.constants[node.inputs[1]].ndim == 2 else 0


def _absorb(node: Node, affine: Affine, graph: Graph) -> bool:
    weight = graph.constants[node.inputs[1]].astype(np.float64)
    attributes = node.attributes
    bias: F64 | float = 0.0
    if len(node.inputs) > 2 and node.inputs[2]:
        if node.inputs[2] not in graph.constants:
            return False
        bias = graph.constants[node.inputs[2]].astype(np.float64) * attributes.get("beta", 1.0)
    by_rows = node.op == "Conv" or bool(attributes.get("transB", 0))
    channels = weight.shape[0 if by_rows else 1]
    if np.ndim(bias) > 1 or affine.scale.size not in (1, channels):
        return False
    scale = np.broadcast_to(affine.scale, (channels,))
    along = scale.reshape((-1,) + (1,) * (weight.ndim - 1)) if by_rows else scale
    weight = weight * along * attributes.get("alpha", 1.0)
    bias = np.broadcast_to(bias * scale + affine.shift, (channels,))
    if node.op == "MatMul":
        node.op = "Gemm"
    if node.op == "Gemm":
        node.attributes = {k: v for k, v in attributes.items() if k.startswith("trans")}
    node.inputs = [
        node.inputs[0],
        graph.add_constant("weight", weight.astype(np.float32)),
        graph.add_constant("bias", bias.astype(np.float32)),
    ]
    return True
