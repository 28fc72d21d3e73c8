"""PRelu from operators that onnxruntime runs well: its own has one slow loop."""

from __future__ import annotations

import numpy as np

from edgefaced.models.prepare.graph import Graph, Node


def rewrite_prelu(graph: Graph, *, blocked: bool) -> None:
    """PRelu by Mul, Relu and Add, or by Mul and Max where that is all of one slope up to one.

    With s the slope: max(x, s x) is least work. In a blocked layout onnxruntime has no Max and
    would leave the layout for it, so there s x + relu((1 - s) x): both products become fused
    convolutions of one weight. A slope above one needs s x + (1 - s) relu(x).
    """
    for node in [*graph.nodes]:
        if node.op != "PRelu" or node.inputs[1] not in graph.constants:
            continue
        x, slope = node.inputs
        value = graph.constants[slope]
        scaled = graph.new_name("scaled")
        graph.insert(node, Node("Mul", [x, slope], [scaled]))
        if (value <= 1).all() and not blocked:
            graph.insert(node, Node("Max", [x, scaled], node.outputs))
        else:
            rest = graph.add_constant("rest", (1 - value).astype(np.float32))
            steeper, positive = graph.new_name("steeper"), graph.new_name("positive")
            steps = [("Mul", [x, rest], steeper), ("Relu", [steeper], positive)]
            if not (value <= 1).all():
                steps = [("Relu", [x], steeper), ("Mul", [steeper, rest], positive)]
            graph.insert(node, *(Node(op, inputs, [result]) for op, inputs, result in steps))
            graph.insert(node, Node("Add", [positive, scaled], node.outputs))
        graph.remove(node)
