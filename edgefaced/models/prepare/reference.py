"""The network as it came, run by software that we did not write."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import onnxruntime as ort

from edgefaced.errors import ModelContractError
from edgefaced.inference.onnx import ONNXRUNTIME_ERRORS, PROVIDER, one_line, session_options
from edgefaced.types import F32

Answers = list[list[F32]]
"""For each input the outputs, in the order they were asked for."""


def reference_answers(
    model: bytes, name: str, outputs: list[str], feeds: Sequence[F32], threads: int
) -> Answers:
    """What onnxruntime answers without optimising, or OpenCV for a file that it does not run.

    Raises ModelContractError where neither runs it.
    """
    try:
        return _onnxruntime_answers(model, name, outputs, feeds, threads)
    except (ValueError, *ONNXRUNTIME_ERRORS) as first:  # ValueError: weights left among the inputs
        try:
            return _opencv_answers(model, name, outputs, feeds)
        except cv2.error as second:
            raise ModelContractError(
                f"neither onnxruntime ({one_line(first)}) nor OpenCV ({one_line(second)}) runs "
                f"this network",
                "check the file and the manifest's input.shape",
            ) from second


def _onnxruntime_answers(
    model: bytes, name: str, outputs: list[str], feeds: Sequence[F32], threads: int
) -> Answers:
    options = session_options(threads, optimise=False)
    session = ort.InferenceSession(model, options, providers=[PROVIDER])
    return [[np.asarray(o) for o in session.run(outputs, {name: feed})] for feed in feeds]


def _opencv_answers(model: bytes, name: str, outputs: list[str], feeds: Sequence[F32]) -> Answers:
    data = np.frombuffer(model, np.uint8)
    if hasattr(cv2.dnn, "ENGINE_CLASSIC"):  # OpenCV 5's new engine takes listed weights for inputs
        net = cv2.dnn.readNetFromONNX(data, engine=cv2.dnn.ENGINE_CLASSIC)
    else:
        net = cv2.dnn.readNetFromONNX(data)
    answers: Answers = []
    for feed in feeds:
        net.setInput(feed, name)
        answers.append([np.array(o, np.float32) for o in net.forward(outputs)])
    return answers
