"""The picture's bytes become the network's input inside the graph."""

from __future__ import annotations

import numpy as np

from edgefaced.models.manifest import ModelSpec
from edgefaced.models.prepare.graph import Graph, Node, Value

IMAGE = "image"


def add_input_stage(graph: Graph, spec: ModelSpec) -> None:
    """Makes the input `image`, (1, height, width, 3) uint8 in the manifest's colour order."""
    own = graph.inputs[0]
    channels_first = spec.input.layout == "NCHW"
    height, width = own.shape[2:] if channels_first else own.shape[1:3]
    axes = (1, 3, 1, 1) if channels_first else (1, 1, 1, 3)
    first = graph.nodes[0]
    picture = graph.new_name("picture")
    stage = [Node("Cast", [IMAGE], [picture], {"to": 1})]
    value = picture
    if channels_first:
        planes = graph.new_name("planes")
        stage.insert(0, Node("Transpose", [IMAGE], [planes], {"perm": [0, 3, 1, 2]}))
        stage[1].inputs = [planes]
    if any(m != 0 for m in spec.input.mean):
        mean = graph.add_constant("mean", np.asarray(spec.input.mean, np.float32).reshape(axes))
        centred = graph.new_name("centred")
        stage.append(Node("Sub", [value, mean], [centred]))
        value = centred
    if any(s != 1 for s in spec.input.std):
        factor = 1 / np.asarray(spec.input.std, np.float64)
        scale = graph.add_constant("scale", factor.astype(np.float32).reshape(axes))
        scaled = graph.new_name("normalised")
        stage.append(Node("Mul", [value, scale], [scaled]))
        value = scaled
    graph.redirect(own.name, value)
    graph.insert(first, *stage)
    graph.inputs[0] = Value(IMAGE, (1, height, width, 3), np.dtype(np.uint8))
