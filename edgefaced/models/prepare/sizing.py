"""Fixing a network to one input size, also one it was not exported for."""

from __future__ import annotations

from math import prod

import numpy as np

from edgefaced.errors import ModelContractError
from edgefaced.models.prepare.folding import fold_constants
from edgefaced.models.prepare.graph import FREE, Graph, Node, Value
from edgefaced.models.prepare.onnx_file import infer_shapes

Shape = tuple[int, ...]


def fix_size(graph: Graph, shape: Shape) -> None:
    """Gives the one input this shape; sizes that were frozen into the graph follow it.

    Raises ModelContractError where a size cannot follow.
    """
    value = graph.inputs[0]
    exported = tuple(1 if i == 0 and s == FREE else s for i, s in enumerate(value.shape))
    fold_constants(graph, shapes=False)
    if FREE not in exported and exported != shape:
        graph.inputs[0] = Value(value.name, exported, value.dtype)
        factors_for_sizes(graph)
        _release_reshapes(graph, shape)
    graph.inputs[0] = Value(value.name, shape, value.dtype)
    graph.outputs = [Value(v.name, (FREE,) * len(v.shape), v.dtype) for v in graph.outputs]
    fold_constants(graph, shapes=True)
    factors_for_sizes(graph)
    shapes = infer_shapes(graph)
    graph.outputs = [Value(v.name, shapes[v.name], v.dtype) for v in graph.outputs]
    for output in graph.outputs:
        if FREE in output.shape:
            raise ModelContractError(
                f"output {output.name!r} has no fixed shape at input {_times(shape)}",
                "export the network without data-dependent shapes",
            )


def free_size(graph: Graph) -> None:
    """Frees height and width of the input `image` (1, height, width, 3), and what follows them.

    The graph then runs at every size that its strides divide; which of them give what the original
    gives is for a proof to say. Raises ModelContractError where a Reshape cannot follow.
    """
    image = graph.inputs[0]
    batch, height, width, channels = image.shape
    _release_reshapes(graph, (batch, 2 * height, 3 * width, channels))
    graph.inputs[0] = Value(image.name, (batch, FREE, FREE, channels), image.dtype)
    graph.outputs = [Value(v.name, (FREE,) * len(v.shape), v.dtype) for v in graph.outputs]


def factors_for_sizes(graph: Graph) -> None:
    """Rewrites Resize to constant sizes as Resize by the whole factors that give just those.

    A factor says the same at every size, and onnxruntime keeps its fast layout over it.
    """
    if not any(node.op == "Resize" for node in graph.nodes):
        return
    shapes = infer_shapes(graph)
    for node in graph.nodes:
        if node.op != "Resize" or len(node.inputs) < 4 or not _stretches(node):
            continue
        sizes, before = graph.constants.get(node.inputs[3]), shapes.get(node.inputs[0], (FREE,))
        if sizes is None or FREE in before:
            continue
        factors = np.asarray(sizes, np.float64) / before
        if (factors == np.round(factors)).all():
            scales = graph.add_constant("factors", factors.astype(np.float32))
            node.inputs = [*node.inputs[:2], scales]


def _stretches(node: Node) -> bool:
    """Whether a Resize goes to its sizes on all axes, whatever the picture's proportions."""
    policy = node.attributes.get("keep_aspect_ratio_policy", b"stretch")
    return policy == b"stretch" and "axes" not in node.attributes


def _release_reshapes(graph: Graph, shape: Shape) -> None:
    """Lets the one dimension of a Reshape that carries the picture's size follow it."""
    old = infer_shapes(graph)
    probe = Graph(
        graph.opset,
        [Value(graph.inputs[0].name, shape, graph.inputs[0].dtype)],
        [Value(v.name, (FREE,) * len(v.shape), v.dtype) for v in graph.outputs],
        [Node(n.op, [*n.inputs], [*n.outputs], n.attributes) for n in graph.nodes],
        dict(graph.constants),
    )
    # In running order, so that what feeds a Reshape has its new shape when its turn comes.
    for at, node in enumerate(graph.nodes):
        if node.op != "Reshape" or node.inputs[1] not in graph.constants:
            continue
        target = tuple(int(t) for t in graph.constants[node.inputs[1]])
        if FREE in target or 0 in target:
            continue
        upto = Graph(probe.opset, probe.inputs, [], probe.nodes[:at], probe.constants)
        new = infer_shapes(upto).get(node.inputs[0])
        if new is None or FREE in new:
            raise ModelContractError(
                f"Reshape {node.outputs[0]!r} cannot follow the size {_times(shape)}",
                "prepare the size it was exported for",
            )
        if prod(new) == prod(target):
            continue
        free = released(target, old[node.inputs[0]], new)
        name = graph.add_constant("target", np.asarray(free, np.int64))
        node.inputs[1] = probe.nodes[at].inputs[1] = name
        probe.constants[name] = graph.constants[name]


def released(target: Shape, before: Shape, after: Shape) -> Shape:
    """`target` with FREE for the one dimension that holds the sizes in which the shapes differ.

    Everything right of it must divide the unchanged tail of the source, everything left of it the
    unchanged head: only then is the order of the elements kept. Raises ModelContractError else.
    """
    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    head, tail = prod(before[: changed[0]]), prod(before[changed[-1] + 1 :])
    fits = [
        i
        for i in range(len(target))
        if head % prod(target[:i]) == 0 and tail % prod(target[i + 1 :]) == 0
    ]
    if len(fits) != 1:
        raise ModelContractError(
            f"a Reshape to {_times(target)} cannot follow the input's size",
            "prepare the size it was exported for",
        )
    return (*target[: fits[0]], FREE, *target[fits[0] + 1 :])


def _times(shape: Shape) -> str:
    return "x".join(str(s) for s in shape)
