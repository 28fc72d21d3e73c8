"""Channels padded with zeros to whole blocks, so that nothing leaves the blocked layout.

onnxruntime has no pool, sum or depthwise convolution over 13 or 24 channels in blocks of 16: it
goes back to the plain layout and returns. The padding costs nothing where blocks are computed
whole anyway. Every channel added is made by zero weights and read by zero weights.
"""

from __future__ import annotations

import numpy as np

from edgefaced.models.prepare.graph import Graph, Node, Shapes

SAME_CHANNELS = ("Relu", "Clip", "Sigmoid", "MaxPool", "AveragePool", "GlobalAveragePool", "Resize")


class Ties:
    """Tensors that must have the same number of channels (disjoint sets)."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The tensor that stands for all that are tied to this one."""
        self._parent.setdefault(name, name)
        while self._parent[name] != name:
            name = self._parent[name]
        return name

    def tie(self, a: str, b: str) -> None:
        self._parent[self.of(a)] = self.of(b)


def align_channels(graph: Graph, shapes: Shapes, block: int) -> None:
    """Pads all channels that lie between convolutions with constant weights to whole blocks."""
    ties, fixed = _ties(graph)

    def missing(name: str) -> int:
        channels = shapes[name][1]
        return 0 if ties.of(name) in fixed else -channels % block

    for node in [*graph.nodes]:
        if dense(node, graph):
            _pad(graph, node, 1, axis=1, more=missing(node.inputs[0]))
            for i in range(1, len(node.inputs)):
                _pad(graph, node, i, axis=0, more=missing(node.outputs[0]))
        elif depthwise(node, graph):
            more = missing(node.outputs[0])
            for i in range(1, len(node.inputs)):
                _pad(graph, node, i, axis=0, more=more)
            node.attributes = {**node.attributes, "group": node.attributes["group"] + more}
        elif _prelu(node, graph):
            _pad(graph, node, 1, axis=0, more=missing(node.outputs[0]))


def dense(node: Node, graph: Graph) -> bool:
    """A convolution in which every output reads every input, with constant weights."""
    return (
        node.op == "Conv"
        and node.attributes.get("group", 1) == 1
        and all(name in graph.constants for name in node.inputs[1:])
    )


def depthwise(node: Node, graph: Graph) -> bool:
    """A convolution of each channel by itself, with constant weights."""
    if node.op != "Conv" or not all(name in graph.constants for name in node.inputs[1:]):
        return False
    outputs, inputs_per_group = graph.constants[node.inputs[1]].shape[:2]
    return bool(inputs_per_group == 1 and node.attributes.get("group", 1) == outputs)


def _ties(graph: Graph) -> tuple[Ties, set[str]]:
    """Which tensors share their channels, and which of them something else depends on."""
    ties = Ties()
    fixed = [*graph.output_names(), *(value.name for value in graph.inputs)]
    for node in graph.nodes:
        tensors = [name for name in node.inputs if name and name not in graph.constants]
        if dense(node, graph):
            continue
        if depthwise(node, graph) or node.op in SAME_CHANNELS or _prelu(node, graph):
            ties.tie(node.inputs[0], node.outputs[0])
        elif node.op in ("Add", "Mul") and len(tensors) == 2:
            for name in tensors:
                ties.tie(name, node.outputs[0])
        else:
            fixed += [*tensors, *node.outputs]
    return ties, {ties.of(name) for name in fixed}


def _prelu(node: Node, graph: Graph) -> bool:
    """PRelu with one slope for each channel, as (channels, 1, 1)."""
    if node.op != "PRelu" or node.inputs[1] not in graph.constants:
        return False
    slope = graph.constants[node.inputs[1]]
    return slope.ndim == 3 and slope.shape[0] == slope.size > 1


def _pad(graph: Graph, node: Node, index: int, *, axis: int, more: int) -> None:
    if more:
        value = graph.constants[node.inputs[index]]
        widths = [(0, more if i == axis else 0) for i in range(value.ndim)]
        node.inputs[index] = graph.add_constant("aligned", np.pad(value, widths))
