"""Small real networks, built node by node and run by onnxruntime without its optimiser."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from edgefaced.inference.onnx import session_options
from edgefaced.models.manifest import (
    DecoderSpec,
    EmbeddingSpec,
    InputSpec,
    ModelSpec,
    OutputSpec,
)
from edgefaced.types import ColourOrder, Role

Shape = Sequence[int | str]


def network(
    nodes: Sequence[onnx.NodeProto],
    constants: Mapping[str, NDArray[Any]],
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    *,
    opset: int = 13,
    listed: bool = False,
) -> bytes:
    """A float32 network as a file; `listed` repeats the weights among the inputs, as of old."""
    values = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    heads = [tensor(name, shape) for name, shape in inputs.items()]
    if listed:
        heads += [helper.make_tensor_value_info(v.name, v.data_type, v.dims) for v in values]
    graph = helper.make_graph(
        list(nodes), "small", heads, [tensor(n, s) for n, s in outputs.items()], values
    )
    imports = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8 if opset < 20 else 10)
    return bytes(model.SerializeToString())


def tensor(name: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, list(shape))


def answers(model: bytes, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Every output of a network."""
    session = ort.InferenceSession(
        model, session_options(1, optimise=False), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def operators(model: bytes) -> Counter[str]:
    """How often each operator occurs."""
    return Counter(node.op_type for node in onnx.load_model_from_string(model).graph.node)


def normal(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def detector_spec(
    model: bytes,
    *,
    shape: tuple[int, int, int, int],
    sizes: tuple[int, ...],
    outputs: Sequence[OutputSpec],
    strides: tuple[int, ...] = (8,),
    anchors: int = 1,
    colour_order: ColourOrder = ColourOrder.RGB,
) -> ModelSpec:
    """A detector whose outputs are named score_8, box_8, landmarks_8 and so on by stride."""
    return ModelSpec(
        role=Role.DETECTOR,
        **_file("tiny-detector", model),
        input=InputSpec(
            name="pixels",
            shape=shape,
            layout="NCHW",
            colour_order=colour_order,
            mean=(127.5, 127.5, 127.5),
            std=(128.0, 128.0, 128.0),
            sizes=sizes,
        ),
        output=tuple(outputs),
        decoder=DecoderSpec(
            kind="scrfd",
            strides=strides,
            anchors=anchors,
            scores=tuple(f"score_{s}" for s in strides),
            boxes=tuple(f"box_{s}" for s in strides),
            landmarks=tuple(f"landmarks_{s}" for s in strides),
            score_threshold=0.5,
            nms_iou=0.4,
        ),
    )


def embedder_spec(
    model: bytes,
    *,
    shape: tuple[int, int, int, int] = (1, 3, 112, 112),
    layout: str = "NCHW",
    mean: tuple[float, float, float] = (123.675, 116.28, 103.53),
    std: tuple[float, float, float] = (58.395, 57.12, 57.375),
    output: str = "vector",
    dimension: int = 16,
    output_shape: tuple[int, ...] | None = None,
) -> ModelSpec:
    """An embedder with the input `pixels`, RGB."""
    return ModelSpec(
        role=Role.EMBEDDER,
        **_file("tiny-embedder", model),
        input=InputSpec(
            name="pixels",
            shape=shape,
            layout="NHWC" if layout == "NHWC" else "NCHW",
            colour_order=ColourOrder.RGB,
            mean=mean,
            std=std,
        ),
        output=(OutputSpec(name=output, shape=output_shape),),
        embedding=EmbeddingSpec(id="tiny", dimension=dimension, output=output),
    )


def _file(name: str, model: bytes) -> dict[str, Any]:
    return {
        "id": name,
        "file": f"{name}.onnx",
        "size_bytes": len(model),
        "sha256": hashlib.sha256(model).hexdigest(),
        "licence": "CC0-1.0",
        "commercial_use": True,
        "source": (),
    }
