"""Reading and writing graphs as ONNX files, and having ONNX infer their shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgefaced.errors import DependencyMissing, ModelContractError, extra
from edgefaced.models.prepare.graph import FREE, Graph, Node, Value

if TYPE_CHECKING:
    import onnx

OLDEST_OPSET = 11
NEWEST_IR = 10  # what onnxruntime 1.20, the oldest we run on, reads


def require_onnx() -> None:
    """Raises DependencyMissing where the extra that rewrites graphs is not installed."""
    try:
        import onnx  # noqa: F401 - only asked whether it is there
    except ImportError as error:
        raise DependencyMissing(
            "preparing a model needs the onnx package", extra("models")
        ) from error


def read_graph(data: bytes) -> Graph:
    """Raises ModelContractError for what is not one plain feed-forward ONNX network."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_model_from_string(data)
    except DecodeError as error:
        raise ModelContractError("this is not an ONNX file", "check the manifest's file") from error
    _refuse_unknown(model)
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    if opset < OLDEST_OPSET:
        model, opset = _raised(model), OLDEST_OPSET
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    nodes: list[Node] = []
    for proto in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        if proto.op_type == "Constant":
            constants[proto.output[0]] = _constant(attributes)
        else:
            nodes.append(Node(proto.op_type, [*proto.input], [*proto.output], attributes))
    # Old files list their weights as inputs as well, and quantised ones list those that are gone:
    # what has a value, or what nothing reads, is no input.
    read = {name for node in nodes for name in node.inputs} - {*constants}
    return Graph(
        opset=opset,
        inputs=[_value(v) for v in model.graph.input if v.name in read],
        outputs=[_value(v) for v in model.graph.output],
        nodes=nodes,
        constants=constants,
    )


def write_graph(graph: Graph) -> bytes:
    """The graph as an ONNX file."""
    return bytes(to_model(graph).SerializeToString())


def to_model(graph: Graph) -> onnx.ModelProto:
    import onnx

    nodes = [
        onnx.helper.make_node(n.op, n.inputs, n.outputs, name=f"{n.op}_{i}", **n.attributes)
        for i, n in enumerate(graph.nodes)
    ]
    proto = onnx.helper.make_graph(
        nodes,
        "edgefaced",
        [_value_info(v) for v in graph.inputs],
        [_value_info(v) for v in graph.outputs],
        [
            onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            for name, array in graph.constants.items()
        ],
    )
    imports = [onnx.helper.make_opsetid("", graph.opset)]
    ir = min(onnx.helper.find_min_ir_version_for(imports), NEWEST_IR)
    return onnx.helper.make_model(
        proto, opset_imports=imports, ir_version=ir, producer_name="edgefaced"
    )


def infer_shapes(graph: Graph) -> dict[str, tuple[int, ...]]:
    """Shape of every tensor whose rank is known, FREE where a size is not.

    Raises ModelContractError where the shapes do not fit each other.
    """
    import onnx

    try:
        model = onnx.shape_inference.infer_shapes(
            to_model(graph), check_type=True, strict_mode=True
        )
    except onnx.shape_inference.InferenceError as error:
        why = " ".join(str(error).split())[:200]
        raise ModelContractError(
            f"the network's shapes do not fit: {why}", "check input.shape and input.sizes"
        ) from error
    shapes = {name: array.shape for name, array in graph.constants.items()}
    for info in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        if info.type.tensor_type.HasField("shape"):
            shapes[info.name] = _shape(info)
    return shapes


def _refuse_unknown(model: onnx.ModelProto) -> None:
    import onnx

    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise ModelContractError(
                f"weight {tensor.name!r} lies in another file", "give one self-contained file"
            )
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx"):
            raise ModelContractError(
                f"operator {node.op_type!r} is of the foreign domain {node.domain!r}",
                "export the network with ONNX's own operators",
            )
        subgraphs = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
        if any(attribute.type in subgraphs for attribute in node.attribute):
            raise ModelContractError(
                f"operator {node.op_type!r} holds a graph of its own",
                "export the network without loops and branches",
            )


def _raised(model: onnx.ModelProto) -> onnx.ModelProto:
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, OLDEST_OPSET)
    except (RuntimeError, version_converter.ConvertError) as error:
        why = " ".join(str(error).split())[:200]
        raise ModelContractError(
            f"the network's old operators cannot be raised to opset {OLDEST_OPSET}: {why}",
            f"export it with opset {OLDEST_OPSET} or later",
        ) from error


def _constant(attributes: dict[str, Any]) -> NDArray[Any]:
    import onnx

    (kind, value), *_ = attributes.items()
    match kind:
        case "value":
            return onnx.numpy_helper.to_array(value)
        case "value_float" | "value_floats":
            return np.asarray(value, np.float32)
        case "value_int" | "value_ints":
            return np.asarray(value, np.int64)
        case _:
            raise ModelContractError(f"a constant is given as {kind!r}", "export plain tensors")


def _value(info: onnx.ValueInfoProto) -> Value:
    import onnx

    dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
    return Value(info.name, _shape(info), dtype)


def _shape(info: onnx.ValueInfoProto) -> tuple[int, ...]:
    return tuple(
        d.dim_value if d.HasField("dim_value") else FREE for d in info.type.tensor_type.shape.dim
    )


def _value_info(value: Value) -> onnx.ValueInfoProto:
    import onnx

    kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    shape = [None if size == FREE else size for size in value.shape]
    return onnx.helper.make_tensor_value_info(value.name, kind, shape)
