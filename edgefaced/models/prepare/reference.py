"""The network as it came, run by software that we did not write."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import onnxruntime as ort

from edgefaced.errors import ModelContractError
from edgefaced.inference.onnx import LOG_FATAL_ONLY, ONNXRUNTIME_ERRORS, PROVIDER
from edgefaced.types import F32

Reference = Callable[[F32], list[F32]]
"""The network's own input in, its outputs in the manifest's order out."""


def open_reference(
    model: bytes, name: str, outputs: list[str], trial: F32, threads: int
) -> Reference:
    """onnxruntime without optimisation, or OpenCV for the block-quantised files.

    Raises ModelContractError where neither runs the file on the `trial` input.
    """
    try:
        return _with_onnxruntime(model, name, outputs, trial, threads)
    except (ValueError, *ONNXRUNTIME_ERRORS) as first:  # ValueError: weights left as inputs
        try:
            return _with_opencv(model, name, outputs, trial)
        except cv2.error as second:
            why = " ".join(f"{first}; {second}".split())[:300]
            raise ModelContractError(
                f"neither onnxruntime nor OpenCV runs this network: {why}",
                "check the file and the manifest's input.shape",
            ) from second


def _with_onnxruntime(
    model: bytes, name: str, outputs: list[str], trial: F32, threads: int
) -> Reference:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = LOG_FATAL_ONLY
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(model, options, providers=[PROVIDER])

    def run(value: F32) -> list[F32]:
        return [np.asarray(o) for o in session.run(outputs, {name: value})]

    run(trial)
    return run


def _with_opencv(model: bytes, name: str, outputs: list[str], trial: F32) -> Reference:
    data = np.frombuffer(model, np.uint8)
    if hasattr(cv2.dnn, "ENGINE_CLASSIC"):  # the newer engine takes old files' weights for inputs
        net = cv2.dnn.readNetFromONNX(data, engine=cv2.dnn.ENGINE_CLASSIC)
    else:
        net = cv2.dnn.readNetFromONNX(data)

    def run(value: F32) -> list[F32]:
        net.setInput(value, name)
        return [np.array(o, np.float32) for o in net.forward(outputs)]

    run(trial)
    return run
