"""A network in the two forms that converters start from, both of one fixed size.

* the float form: the maker's file with its own float input, for the vendor's toolkit, which folds
  the normalisation into the compiled network itself;
* the portable form: `image` (1, height, width, 3) uint8 in, as the daemon's own prepared files,
  for onnxruntime. Heads are not merged: boxes and scores must never share one int8 tensor.
"""

from __future__ import annotations

import numpy as np

from edgefaced.models.prepare.affine import fold_backward, fold_scale_forward
from edgefaced.models.prepare.contract import check_original, check_prepared, input_shape
from edgefaced.models.prepare.graph import Graph
from edgefaced.models.prepare.input_stage import add_input_stage
from edgefaced.models.prepare.onnx_file import (
    infer_shapes,
    read_graph,
    require_onnx,
    write_graph,
)
from edgefaced.models.prepare.simplify import drop_no_ops, floor_pools
from edgefaced.models.prepare.sizing import fix_size
from edgefaced.protocols import Tensor
from edgefaced.types import U8
from edgefaced_convert.packs import PackNetwork


def float_form(network: PackNetwork) -> bytes:
    """Raises ModelContractError where the file breaks its manifest."""
    graph = _fixed(network)
    graph.tidy()
    return write_graph(graph)


def portable_form(network: PackNetwork) -> bytes:
    """Raises ModelContractError where the file breaks its manifest."""
    graph = _fixed(network)
    add_input_stage(graph, network.spec)
    shapes = infer_shapes(graph)
    fold_backward(graph, shapes)
    fold_scale_forward(graph, shapes)
    floor_pools(graph, shapes)
    graph.tidy()
    return write_graph(graph)


def float_feed(network: PackNetwork, picture: U8) -> dict[str, Tensor]:
    """A picture (height, width, 3), channels in the network's order, as the float form takes it."""
    spec = network.spec.input
    values = ((picture - np.array(spec.mean)) / np.array(spec.std)).astype(np.float32)
    return {spec.name: (np.moveaxis(values, 2, 0) if spec.layout == "NCHW" else values)[np.newaxis]}


def _fixed(network: PackNetwork) -> Graph:
    require_onnx()
    spec = network.spec
    graph = read_graph(network.original)
    check_original(graph, spec)
    fix_size(graph, input_shape(spec, network.size, network.size))
    by_name = {value.name: value for value in graph.outputs}
    graph.outputs = [by_name[output.name] for output in spec.output]
    check_prepared(graph, spec, network.size)
    drop_no_ops(graph)
    return graph
