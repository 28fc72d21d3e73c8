"""Exact rewrites that make a network cheaper; each is here because it was measured to pay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgefaced.models.prepare.graph import Graph, Node
from edgefaced.types import F64


def simplify(graph: Graph) -> None:
    """All rewrites, in an order in which each meets what the one before it made."""
    drop_no_ops(graph)
    while _fold_one_affine(graph):
        pass
    rewrite_prelu(graph)
    graph.tidy()


def drop_no_ops(graph: Graph) -> None:
    """Removes Identity and Dropout, which do nothing outside training."""
    kept_names = graph.output_names()
    for node in [*graph.nodes]:
        if node.op not in ("Identity", "Dropout"):
            continue
        source, result = node.inputs[0], node.outputs[0]
        if result in kept_names:
            maker = graph.producers().get(source)
            if maker is None or source in kept_names:
                continue
            graph.remove(node)
            graph.redirect(source, result)
            maker.outputs = [result if name == source else name for name in maker.outputs]
        else:
            graph.remove(node)
            graph.redirect(result, source)


def rewrite_prelu(graph: Graph) -> None:
    """PRelu as max(x, slope x), or as slope x + (1 - slope) relu(x) where a slope exceeds one."""
    for node in [*graph.nodes]:
        if node.op != "PRelu" or node.inputs[1] not in graph.constants:
            continue
        x, slope = node.inputs
        scaled = graph.new_name("scaled")
        if (graph.constants[slope] <= 1).all():
            graph.insert(node, Node("Mul", [x, slope], [scaled]))
            graph.insert(node, Node("Max", [x, scaled], node.outputs))
        else:
            positive, rest = graph.new_name("positive"), graph.new_name("rest")
            factor = graph.add_constant("factor", (1 - graph.constants[slope]).astype(np.float32))
            graph.insert(
                node,
                Node("Relu", [x], [positive]),
                Node("Mul", [x, slope], [scaled]),
                Node("Mul", [positive, factor], [rest]),
                Node("Add", [rest, scaled], node.outputs),
            )
        graph.remove(node)


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


def _fold_one_affine(graph: Graph) -> bool:
    """Folds one scale-and-shift into the convolution or matrix before it."""
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
