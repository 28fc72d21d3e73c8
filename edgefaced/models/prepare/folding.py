"""Constant folding: whatever does not depend on the picture is computed now."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgefaced.models.prepare.graph import FREE, Graph, Node
from edgefaced.models.prepare.onnx_file import infer_shapes


def fold_constants(graph: Graph, *, shapes: bool) -> None:
    """Replaces every node whose inputs are all known; with `shapes`, known sizes count as known.

    Block-wise quantised weights (DequantizeLinear and the Reshape behind it) become plain float32.
    """
    while _fold_known_inputs(graph) or (shapes and _fold_known_shapes(graph)):
        pass
    graph.tidy()


def _fold_known_inputs(graph: Graph) -> bool:
    names = graph.output_names()
    left: list[Node] = []
    for node in graph.nodes:
        # No inputs at all is a generator, of random numbers for example.
        known = node.inputs and all(name in graph.constants for name in node.inputs if name)
        if known and not names.intersection(node.outputs):
            for name, value in zip(node.outputs, _evaluate(node, graph), strict=False):
                graph.constants[name] = value
        else:
            left.append(node)
    changed = len(left) < len(graph.nodes)
    graph.nodes = left
    return changed


def _fold_known_shapes(graph: Graph) -> bool:
    if not any(node.op == "Shape" for node in graph.nodes):
        return False
    shapes = infer_shapes(graph)
    left: list[Node] = []
    for node in graph.nodes:
        shape = shapes.get(node.inputs[0], (FREE,)) if node.op == "Shape" else (FREE,)
        if FREE in shape:
            left.append(node)
        else:
            part = slice(node.attributes.get("start", 0), node.attributes.get("end"))
            graph.constants[node.outputs[0]] = np.asarray(shape[part], np.int64)
    changed = len(left) < len(graph.nodes)
    graph.nodes = left
    return changed


def _evaluate(node: Node, graph: Graph) -> list[NDArray[Any]]:
    import onnx
    from onnx.reference import ReferenceEvaluator

    feeds = {name: graph.constants[name] for name in node.inputs if name}
    single = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node(node.op, node.inputs, node.outputs, **node.attributes)],
            "constant",
            [
                onnx.helper.make_tensor_value_info(
                    name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
                )
                for name, value in feeds.items()
            ],
            [onnx.helper.make_empty_tensor_value_info(name) for name in node.outputs if name],
        ),
        opset_imports=[onnx.helper.make_opsetid("", graph.opset)],
    )
    return [np.asarray(value) for value in ReferenceEvaluator(single).run(None, feeds)]
