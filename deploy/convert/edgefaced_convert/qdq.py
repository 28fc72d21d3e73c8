"""Static quantisation for CPUs by onnxruntime: QDQ, one scale a channel.

Only what onnxruntime then runs as one integer operator is quantised: a convolution between two
that stay in float costs more in conversions than it saves.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefaced.errors import DependencyMissing, extra
from edgefaced.recognition.contract import IMAGE
from edgefaced.types import U8
from edgefaced_convert.capture import captured

if TYPE_CHECKING:
    import onnx

OPSET = 13
"""The first whose DequantizeLinear has one scale a channel."""
FUSING = ("Conv", "Add", "Gemm", "MatMul", "Relu", "Clip")
"""Operators that have an integer form, and what fuses into it: without Clip the range is measured
before the clipping, and MobileFaceNet's mean cosine falls to 0.88."""
ALGORITHMS = {"min-max": "MinMax", "percentile 99.99": "Percentile"}


class Pictures:
    """Pictures (height, width, 3) one by one, as onnxruntime's calibration asks for them."""

    def __init__(self, pictures: Sequence[U8]) -> None:
        self._left: Iterator[U8] = iter(pictures)

    def get_next(self) -> dict[str, U8] | None:
        """The next input, None after the last."""
        picture = next(self._left, None)
        return None if picture is None else {IMAGE: picture[np.newaxis]}


def node_names(form: bytes, kinds: Sequence[str] = FUSING) -> list[str]:
    """Names of the operators of these kinds, in running order."""
    import onnx

    return [n.name for n in onnx.load_model_from_string(form).graph.node if n.op_type in kinds]


def raised(form: bytes) -> onnx.ModelProto:
    """The network with an opset that can say one scale a channel."""
    import onnx
    from onnx import version_converter

    model = onnx.load_model_from_string(form)
    if model.opset_import[0].version < OPSET:
        model = version_converter.convert_version(model, OPSET)
    return model


def quantise(
    form: bytes,
    pictures: Sequence[U8],
    *,
    algorithm: str = "min-max",
    in_float: Sequence[str] = (),
    kinds: Sequence[str] = FUSING,
) -> bytes:
    """The network with these kinds of operators in int8, those named `in_float` excepted.

    Raises DependencyMissing without the onnx package.
    """
    try:
        import onnx
        from onnxruntime import quantization as q
    except ImportError as error:
        raise DependencyMissing(f"quantising needs onnx: {error}", extra("models")) from error
    reader: Any = type("Reader", (Pictures, q.CalibrationDataReader), {})(pictures)
    with tempfile.TemporaryDirectory() as name:
        source, result = Path(name, "float.onnx"), Path(name, "int8.onnx")
        onnx.save(raised(form), source)
        with captured():  # it talks on stdout, which is ours
            q.quantize_static(
                source,
                result,
                reader,
                quant_format=q.QuantFormat.QDQ,
                per_channel=True,
                activation_type=q.QuantType.QUInt8,
                weight_type=q.QuantType.QInt8,
                op_types_to_quantize=list(kinds),
                nodes_to_exclude=list(in_float),
                calibrate_method=getattr(q.CalibrationMethod, ALGORITHMS[algorithm]),
            )
        return result.read_bytes()
