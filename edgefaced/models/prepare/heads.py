"""A detector's small convolutions over the same features become one.

onnxruntime computes whole blocks of channels (16 on AVX-512): heads of 2, 8 and 20 channels cost
16 + 16 + 32, their union of 30 costs 32.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgefaced.models.prepare.alignment import dense, depthwise
from edgefaced.models.prepare.graph import Graph, Node, Shapes

BLOCK = 16
CHANNELS_LAST = (0, 2, 3, 1)
SPLIT_TAKES_INPUT = 13
"""From this opset on the sizes of a Split are an input, before an attribute."""


def merge_heads(graph: Graph, shapes: Shapes) -> None:
    """Merges sibling convolutions and what follows them alike; a Split gives the old outputs."""
    channels_last(graph, shapes)
    for name in [*graph.users()]:
        for siblings in _siblings(graph, name):
            split = _merge_convolutions(graph, siblings, name, groups=1)
            while step := _same_step(graph, split):
                merged = split.inputs[0]
                graph.remove(split)
                if step[0].op == "Conv":
                    groups = sum(_channels(node, graph) for node in step)
                    split = _merge_convolutions(graph, step, merged, groups)
                else:
                    split = _merge_transposes(graph, step, split)


def channels_last(graph: Graph, shapes: Shapes) -> None:
    """Spells Transposes alike that give the same order in memory because the batch is one."""
    users = graph.users()
    for node in graph.nodes:
        if node.op != "Transpose" or node.outputs[0] in graph.output_names():
            continue
        shape, perm = shapes[node.inputs[0]], node.attributes["perm"]
        reshaped = all(
            reader.op == "Reshape" and 0 not in graph.constants.get(reader.inputs[1], [0])
            for reader in users[node.outputs[0]]
        )
        image = len(shape) == len(CHANNELS_LAST) and shape[0] == 1
        if image and reshaped and [axis for axis in perm if axis] == [*CHANNELS_LAST[1:]]:
            node.attributes["perm"] = [*CHANNELS_LAST]


def _merge_convolutions(graph: Graph, nodes: Sequence[Node], source: str, groups: int) -> Node:
    channels = [_channels(node, graph) for node in nodes]
    parameters = [
        graph.add_constant("merged", np.concatenate([graph.constants[name] for name in column]))
        for column in zip(*(node.inputs[1:] for node in nodes), strict=True)
    ]
    attributes = {**nodes[0].attributes, "group": groups}
    return _replace(graph, nodes, Node("Conv", [source, *parameters], [], attributes), 1, channels)


def _merge_transposes(graph: Graph, nodes: Sequence[Node], split: Node) -> Node:
    perm = nodes[0].attributes["perm"]
    axis = perm.index(split.attributes["axis"])
    merged = Node("Transpose", [split.inputs[0]], [], {"perm": perm})
    return _replace(graph, nodes, merged, axis, _parts(graph, split))


def _replace(
    graph: Graph, nodes: Sequence[Node], merged: Node, axis: int, parts: Sequence[int]
) -> Node:
    """Puts `merged` where the first of `nodes` was, and the Split that gives what they gave."""
    merged.outputs = [graph.new_name("merged")]
    split = Node("Split", [*merged.outputs], [n.outputs[0] for n in nodes], {"axis": axis})
    if graph.opset >= SPLIT_TAKES_INPUT:
        split.inputs.append(graph.add_constant("parts", np.asarray(parts, np.int64)))
    else:
        split.attributes["split"] = [*parts]
    graph.insert(min(nodes, key=graph.nodes.index), merged, split)
    graph.remove(*nodes)
    return split


def _parts(graph: Graph, split: Node) -> list[int]:
    if graph.opset >= SPLIT_TAKES_INPUT:
        return [int(part) for part in graph.constants[split.inputs[1]]]
    return [*split.attributes["split"]]


def _siblings(graph: Graph, name: str) -> list[list[Node]]:
    """Groups of two or more convolutions of `name` that take fewer blocks together than alone."""
    users = graph.users()
    groups: list[list[Node]] = []
    for node in users.get(name, []):
        if node.inputs[0] != name or not dense(node, graph):
            continue
        readers = users.get(node.outputs[0], [])
        if len(readers) != 1 or not (readers[0].op == "Transpose" or depthwise(readers[0], graph)):
            continue
        for group in groups:
            if _alike(node, group[0], graph):
                group.append(node)
                break
        else:
            groups.append([node])
    return [g for g in groups if len(g) > 1 and _saves_blocks([_channels(n, graph) for n in g])]


def _saves_blocks(channels: Sequence[int]) -> bool:
    return -(-sum(channels) // BLOCK) < sum(-(-c // BLOCK) for c in channels)


def _alike(a: Node, b: Node, graph: Graph) -> bool:
    """Two convolutions that differ in their output channels only."""
    kernels = [graph.constants[node.inputs[1]].shape[2:] for node in (a, b)]
    plain = [{k: v for k, v in n.attributes.items() if k != "group"} for n in (a, b)]
    return kernels[0] == kernels[1] and plain[0] == plain[1] and len(a.inputs) == len(b.inputs)


def _same_step(graph: Graph, split: Node) -> list[Node]:
    """The one reader of each part of a split, where all of them do the same; else nothing."""
    users = graph.users()
    readers = [users.get(name, []) for name in split.outputs]
    if any(len(r) != 1 for r in readers):
        return []
    step = [r[0] for r in readers]
    first = step[0]
    if all(node.op == "Transpose" for node in step):
        same = all(node.attributes == first.attributes for node in step)
    else:
        same = all(depthwise(node, graph) and _alike(node, first, graph) for node in step)
    return step if same and not graph.output_names().intersection(split.outputs) else []


def _channels(node: Node, graph: Graph) -> int:
    return int(graph.constants[node.inputs[1]].shape[0])
