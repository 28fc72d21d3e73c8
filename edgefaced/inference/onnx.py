"""Networks on the CPU, by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

from edgefaced.errors import ModelError
from edgefaced.inference.feeds import check_feeds
from edgefaced.protocols import Tensor, TensorSpec

PROVIDER = "CPUExecutionProvider"
LOG_FATAL_ONLY = 4
"""What onnxruntime has to say of an error is in its exception."""

ONNXRUNTIME_ERRORS = (
    state.EPFail,
    state.EngineError,
    state.Fail,
    state.InvalidArgument,
    state.InvalidGraph,
    state.InvalidProtobuf,
    state.NotImplemented,
    state.RuntimeException,
)
"""Everything that onnxruntime raises of a network or its input; they share no base."""


class OnnxBackend:
    """One network in an onnxruntime session of its own. Raises ModelError for what cannot load."""

    def __init__(self, model: bytes, *, threads: int, optimise: bool) -> None:
        levels = ort.GraphOptimizationLevel
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = LOG_FATAL_ONLY
        options.graph_optimization_level = (
            levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
        )
        # Idle threads that spin take the core of the next network.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: ort.InferenceSession | None = ort.InferenceSession(
                model, options, providers=[PROVIDER]
            )
        except ONNXRUNTIME_ERRORS as error:
            raise ModelError(
                f"onnxruntime {ort.__version__} cannot load the network: {one_line(error)}",
                "run: edgefaced models verify",
            ) from error
        self._inputs = tuple(_spec(arg) for arg in self._session.get_inputs())
        self._outputs = tuple(_spec(arg) for arg in self._session.get_outputs())
        self._names = [o.name for o in self._outputs]

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        if self._session is None:
            raise ModelError("the network is closed", "open it again")
        check_feeds(self._inputs, feeds)
        try:
            result: Sequence[Tensor] = self._session.run(self._names, dict(feeds))
        except ONNXRUNTIME_ERRORS as error:
            raise ModelError(f"the network failed: {one_line(error)}") from error
        return result

    def close(self) -> None:
        self._session = None


def one_line(error: Exception) -> str:
    """What onnxruntime said, without its prefix and source positions, in one line."""
    said = " ".join(str(error).split())
    return said.removeprefix("[ONNXRuntimeError] : ")[:300]


TYPES = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32}


def _spec(arg: ort.NodeArg) -> TensorSpec:
    return TensorSpec(arg.name, tuple(arg.shape), np.dtype(TYPES[arg.type]))
