"""Channels brought to like ranges before a tensor of them all gets one int8 scale.

A channel divided by a number where it is made and multiplied by it where it is read changes
nothing in float, through all that lets a positive factor pass (Relu, PRelu, sums, pools). In int8
a channel of a small range, which shared 256 steps with a large one, then has steps of its own.
The factor is the root of the channel's range over that of the weights that read it, so that the
one is not mended by spoiling the other (Nagel et al. 2019; Xiao et al. 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgefaced.models.prepare.affine import fold_backward
from edgefaced.models.prepare.alignment import Ties, depthwise
from edgefaced.models.prepare.graph import Graph, Node
from edgefaced.models.prepare.onnx_file import infer_shapes, read_graph, write_graph
from edgefaced.types import F64
from edgefaced_convert.inner import Feeds, inner_tensors

LETS_FACTORS_PASS = (
    *("Relu", "LeakyRelu", "PRelu", "MaxPool", "AveragePool", "GlobalAveragePool", "Resize"),
)
SMALLEST_SHARE = 1e-3
"""Of the largest: a channel that is never used is not blown up."""


def equalised(form: bytes, feeds: Sequence[Feeds]) -> bytes:
    """The same network in float; ranges are measured on `feeds`, a dozen or so."""
    graph = read_graph(form)
    fold_backward(graph, infer_shapes(graph))
    graph.tidy()
    ties, free = _tied(graph)
    ranges = _ranges(graph, ties, free, feeds)
    factors = {tied: _factors(top, _readers(graph, ties, tied)) for tied, top in ranges.items()}
    for node in graph.nodes:
        if _filter(node, graph):
            _scale(node, graph, factors.get(ties.of(node.inputs[0])), axis=1)
            _scale(node, graph, factors.get(ties.of(node.outputs[0])), axis=0)
    graph.tidy()
    return write_graph(graph)


def _filter(node: Node, graph: Graph) -> bool:
    return node.op == "Conv" and all(name in graph.constants for name in node.inputs[1:])


def _tied(graph: Graph) -> tuple[Ties, set[str]]:
    """Tensors whose channels must keep one factor, and which of them may have one at all."""
    ties = Ties()
    fixed = [*graph.output_names(), *(value.name for value in graph.inputs)]
    for node in graph.nodes:
        tensors = [name for name in node.inputs if name and name not in graph.constants]
        if _filter(node, graph):
            continue
        passes = node.op in LETS_FACTORS_PASS and len(tensors) == 1
        if passes or (node.op == "Add" and len(tensors) == 2):
            for name in tensors:
                ties.tie(name, node.outputs[0])
        else:
            fixed += [*tensors, *node.outputs]
    fixed_ones = {ties.of(name) for name in fixed}
    every = {ties.of(name) for node in graph.nodes for name in node.outputs}
    return ties, every - fixed_ones


def _ranges(graph: Graph, ties: Ties, free: set[str], feeds: Sequence[Feeds]) -> dict[str, F64]:
    """The largest value of each channel, over all tensors that are tied."""
    asked = [name for node in graph.nodes for name in node.outputs if ties.of(name) in free]
    ranges: dict[str, F64] = {}
    for tensors in inner_tensors(write_graph(graph), asked, feeds):
        for name, tensor in tensors.items():
            top = np.abs(tensor).max(axis=(0, *range(2, tensor.ndim))).astype(np.float64)
            tied = ties.of(name)
            ranges[tied] = np.maximum(ranges[tied], top) if tied in ranges else top
    return ranges


def _readers(graph: Graph, ties: Ties, tied: str) -> list[F64]:
    """The largest weight by which each filter that mixes these channels reads each of them."""
    return [
        np.abs(_by_group(node, graph)).max(axis=(1, 3)).reshape(-1)
        for node in graph.nodes
        if _filter(node, graph) and ties.of(node.inputs[0]) == tied and not depthwise(node, graph)
    ]


def _by_group(node: Node, graph: Graph) -> F64:
    """A filter's weights as (groups, outputs of a group, inputs of a group, the rest)."""
    weights = graph.constants[node.inputs[1]].astype(np.float64)
    groups = node.attributes.get("group", 1)
    return weights.reshape(groups, weights.shape[0] // groups, weights.shape[1], -1)


def _factors(top: F64, readers: Sequence[F64]) -> F64:
    top = _not_tiny(top)
    # A filter of each channel by itself has a scale for each: only the range counts.
    factors = np.sqrt(top / _not_tiny(np.stack(readers).max(axis=0))) if readers else top
    return np.asarray(factors / np.exp(np.log(factors).mean()))


def _not_tiny(values: F64) -> F64:
    return np.maximum(values, SMALLEST_SHARE * float(values.max()) or 1.0)


def _scale(node: Node, graph: Graph, factors: F64 | None, *, axis: int) -> None:
    """Multiplies what a filter reads (axis 1), or divides what it makes (axis 0)."""
    if factors is None:
        return
    weights = graph.constants[node.inputs[1]]
    if axis == 1:
        grouped = _by_group(node, graph)
        scaled = grouped * factors.reshape(grouped.shape[0], 1, -1, 1)
    else:
        scaled = _by_group(node, graph).reshape(len(factors), -1) / factors[:, np.newaxis]
        for place in range(2, len(node.inputs)):
            bias = graph.constants[node.inputs[place]] / factors
            node.inputs[place] = graph.add_constant("bias", bias.astype(np.float32))
    node.inputs[1] = graph.add_constant("weight", scaled.reshape(weights.shape).astype(np.float32))
