"""A network as a list of operators with shapes: what the operator report and the costs read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgefaced.errors import ModelContractError, UsageError
from edgefaced.models.prepare.graph import FREE, Graph, Node
from edgefaced.models.prepare.onnx_file import (
    infer_shapes,
    read_graph,
    require_onnx,
    write_graph,
)
from edgefaced.models.prepare.simplify import drop_no_ops
from edgefaced.models.prepare.sizing import fix_size

Shape = tuple[int, ...]
OWN_DOMAINS = ("", "ai.onnx")
FOLDED = frozenset({"Add", "Sub", "Mul", "Div", "BatchNormalization"})


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator; `shapes_in` has () for what is absent or of unknown rank."""

    name: str
    kind: str
    domain: str
    attributes: Mapping[str, Any]
    constants: Mapping[int, NDArray[Any]]
    """Values of the inputs that are known, by their place."""
    shapes_in: tuple[Shape, ...]
    shapes_out: tuple[Shape, ...]
    feeds: tuple[str, ...]
    """Kinds of the operators that read the result; "" for an output of the network."""
    follows: str = ""
    """Kind of what makes the first input, arithmetic with constants overlooked: it is folded."""

    @property
    def rank(self) -> int:
        """Of the larger of input and output."""
        return max((len(shape) for shape in (*self.shapes_in, *self.shapes_out)), default=0)


@dataclass(frozen=True, slots=True)
class Network:
    """A network's operators in running order."""

    name: str
    opset: int
    input_shape: Shape
    """As it was read; FREE where a side is free."""
    operators: tuple[Operator, ...]


def read_network(data: bytes, name: str, size: tuple[int, int] | None) -> Network:
    """The operators of an ONNX file, its input fixed to (height, width) where `size` is given.

    A file with foreign operators, or with graphs inside operators, is listed as it is, without
    shapes. Raises ModelContractError for what is no ONNX network.
    """
    require_onnx()
    try:
        graph = read_graph(data)
    except ModelContractError:
        return _as_it_is(data, name)
    if not graph.nodes:
        raise _no_network(name)
    found = graph.inputs[0].shape if graph.inputs else ()
    if size is not None:
        _fix(graph, name, size)
    drop_no_ops(graph)
    return Network(name, graph.opset, found, tuple(operators_of(graph)))


def with_size(data: bytes, name: str, size: tuple[int, int]) -> bytes:
    """The file with its input fixed to (height, width). Raises ModelContractError, UsageError."""
    graph = read_graph(data)
    _fix(graph, name, size)
    return write_graph(graph)


def _fix(graph: Graph, name: str, size: tuple[int, int]) -> None:
    found = graph.inputs[0].shape if graph.inputs else ()
    if len(graph.inputs) != 1 or len(found) != 4:
        raise UsageError(
            f"{name}: its input is {_shapes_of(graph)}, not one picture",
            "a network of free size is looked at with one input of four dimensions",
        )
    channels_last = found[3] in (1, 3) and found[1] not in (1, 3)
    channels = found[3] if channels_last else found[1]
    fix_size(graph, (1, *size, channels) if channels_last else (1, channels, *size))


def _shapes_of(graph: Graph) -> str:
    shapes = (
        "x".join("?" if side == FREE else str(side) for side in v.shape) for v in graph.inputs
    )
    return " and ".join(shapes) or "nothing"


def operators_of(graph: Graph) -> list[Operator]:
    """The operators of a graph, shapes FREE where they are not fixed."""
    shapes, users, makers = infer_shapes(graph), graph.users(), graph.producers()
    outputs = graph.output_names()
    found = []
    for number, node in enumerate(graph.nodes):
        readers = [user.op for name in node.outputs for user in users.get(name, [])]
        ends = [""] if outputs.intersection(node.outputs) else []
        found.append(
            Operator(
                name=node.outputs[0] or f"{node.op}_{number}",
                kind=node.op,
                domain="",
                attributes=node.attributes,
                constants={
                    place: graph.constants[name]
                    for place, name in enumerate(node.inputs)
                    if name in graph.constants
                },
                shapes_in=tuple(shapes.get(name, ()) for name in node.inputs),
                shapes_out=tuple(shapes.get(name, ()) for name in node.outputs),
                feeds=(*readers, *ends),
                follows=_source(node, makers, graph),
            )
        )
    return found


def _source(node: Node, makers: Mapping[str, Node], graph: Graph) -> str:
    maker = makers.get(next(iter(node.inputs), ""))
    while maker is not None and maker.op in FOLDED:
        fed = [name for name in maker.inputs if name not in graph.constants]
        if len(fed) != 1:
            break
        maker = makers.get(fed[0])
    return "" if maker is None else maker.op


def _as_it_is(data: bytes, name: str) -> Network:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_model_from_string(data)
    except DecodeError as error:
        raise _no_network(name) from error
    if not model.graph.node:
        raise _no_network(name)
    opset = next((o.version for o in model.opset_import if o.domain in OWN_DOMAINS), 0)
    return Network(
        name,
        opset,
        (FREE,) * 4,
        tuple(
            Operator(
                name=node.output[0] if node.output else node.op_type,
                kind=node.op_type,
                domain="" if node.domain in OWN_DOMAINS else node.domain,
                attributes={
                    a.name: onnx.helper.get_attribute_value(a)
                    for a in node.attribute
                    if a.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
                },
                constants={},
                shapes_in=(),
                shapes_out=(),
                feeds=(),
            )
            for node in model.graph.node
        ),
    )


def _no_network(name: str) -> ModelContractError:
    return ModelContractError(f"{name} is not an ONNX network", "check the path")


def attribute(operator: Operator, name: str, default: Any) -> Any:
    """An attribute's value; bytes as text."""
    value = operator.attributes.get(name, default)
    return value.decode() if isinstance(value, bytes) else value


def known(operator: Operator, place: int) -> NDArray[np.float64] | None:
    """A constant input as numbers; None where it is none."""
    value = operator.constants.get(place)
    return None if value is None else np.asarray(value, np.float64)
