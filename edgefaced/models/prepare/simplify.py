"""Exact rewrites that make a network cheaper; each is here because it was measured to pay."""

from __future__ import annotations

from edgefaced.models.prepare.affine import fold_backward, fold_scale_forward
from edgefaced.models.prepare.alignment import align_channels
from edgefaced.models.prepare.graph import Graph, Shapes
from edgefaced.models.prepare.heads import merge_heads
from edgefaced.models.prepare.onnx_file import infer_shapes
from edgefaced.models.prepare.prelu import rewrite_prelu


def simplify(graph: Graph, *, block: int) -> None:
    """All rewrites, in an order in which each meets what the one before it made.

    `block`: channels in a block of onnxruntime's blocked layout on this machine, 1 without one.
    """
    shapes = infer_shapes(graph)
    drop_no_ops(graph)
    fold_backward(graph, shapes)
    fold_scale_forward(graph, shapes)
    floor_pools(graph, shapes)
    merge_heads(graph, shapes)
    align_channels(graph, infer_shapes(graph), block)
    rewrite_prelu(graph, blocked=block > 1)
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


def floor_pools(graph: Graph, shapes: Shapes) -> None:
    """Drops ceil_mode where the windows fit anyway: the blocked layout has no such pool."""
    for node in graph.nodes:
        if node.op not in ("MaxPool", "AveragePool") or not node.attributes.get("ceil_mode", 0):
            continue
        sides = shapes[node.inputs[0]][2:]
        kernel = node.attributes["kernel_shape"]
        strides = node.attributes.get("strides", [1] * len(kernel))
        pads = node.attributes.get("pads", [0] * 2 * len(kernel))
        plain = "auto_pad" not in node.attributes and "dilations" not in node.attributes
        if plain and all(
            (side + pads[i] + pads[i + len(kernel)] - kernel[i]) % strides[i] == 0
            for i, side in enumerate(sides)
        ):
            node.attributes["ceil_mode"] = 0
