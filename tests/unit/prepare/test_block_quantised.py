"""Files as OpenCV's model zoo publishes them: int8 weights in blocks, and listed among the inputs.

onnxruntime takes the listed weights for inputs, so OpenCV gives the original's answers.
"""

from __future__ import annotations

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from networks import embedder_spec, network, normal
from onnx import helper

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.prepare import prepare_model
from edgefaced.models.prepare.proof import network_input, pattern

RANDOM = np.random.default_rng(11)


def quantised() -> tuple[bytes, ModelSpec]:
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, np.ndarray] = {}
    for name, shape in {"k": (8, 3, 5, 5), "w": (16, 8)}.items():
        flat = (shape[0], int(np.prod(shape[1:])))
        constants |= {
            f"{name}_q": RANDOM.integers(-128, 128, flat).astype(np.int8),
            f"{name}_s": RANDOM.uniform(1e-3, 3e-3, (shape[0], 1)).astype(np.float32),
            f"{name}_z": RANDOM.integers(-60, 60, (shape[0], 1)).astype(np.int8),
            f"{name}_t": np.array(shape),
        }
        parts = [f"{name}_{part}" for part in "qsz"]
        nodes += [
            helper.make_node("DequantizeLinear", parts, [f"{name}_d"], axis=1, block_size=flat[1]),
            helper.make_node("Reshape", [f"{name}_d", f"{name}_t"], [name]),
        ]
    nodes += [
        helper.make_node("Conv", ["pixels", "k"], ["c"], kernel_shape=[5, 5], strides=[4, 4]),
        helper.make_node("PRelu", ["c", "slope"], ["p"]),
        helper.make_node("GlobalAveragePool", ["p"], ["m"]),
        helper.make_node("Flatten", ["m"], ["f"]),
        helper.make_node("Gemm", ["f", "w", "b"], ["vector"], transB=1),
    ]
    constants |= {"slope": np.full((8, 1, 1), 0.25, np.float32), "b": normal(16)}
    model = onnx.load_model_from_string(
        network(nodes, constants, {"pixels": [1, 3, 112, 112]}, {"vector": [1, 16]}, opset=21)
    )
    # As the zoo's quantiser leaves them: the weights that are gone are still listed.
    for name, sides in (("weight", [8, 3, 5, 5]), ("matrix", [16, 8])):
        value = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, sides)
        model.graph.input.append(value)
    data = bytes(model.SerializeToString())
    return data, embedder_spec(data, mean=(0.0, 0.0, 0.0), std=(255.0, 255.0, 255.0))


@pytest.mark.parametrize("optimised", [True, False])
def test_prepared_it_answers_as_opencv_does_with_the_file_as_it_came(optimised: bool) -> None:
    data, spec = quantised()
    (variant,) = prepare_model(spec, data, [pattern(300)], 1).variants
    assert variant.proof.lowest_cosine > 0.999999
    picture = pattern(112)
    backend = OnnxBackend(
        variant.optimised if optimised else variant.portable, threads=1, optimise=not optimised
    )
    given = backend.run({"image": picture[None, ..., ::-1].copy()})[0]
    engine = {"engine": cv2.dnn.ENGINE_CLASSIC} if hasattr(cv2.dnn, "ENGINE_CLASSIC") else {}
    net = cv2.dnn.readNetFromONNX(np.frombuffer(data, np.uint8), **engine)
    net.setInput(network_input(spec, picture), "pixels")
    np.testing.assert_allclose(given, net.forward(), rtol=1e-4, atol=1e-5)


def test_onnxruntime_does_not_run_the_file_as_it_came() -> None:
    """Were it to, the test above would prove nothing of OpenCV's part."""
    data, spec = quantised()
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    with pytest.raises(ValueError, match="weight"):
        session.run(None, {"pixels": network_input(spec, pattern(112))})
