"""Networks by onnxruntime: on the CPU, or on the execution providers that are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

from edgefaced.errors import ModelError
from edgefaced.inference.feeds import FREE, check_feeds
from edgefaced.inference.providers import NO_CPU, entries
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

SPIN_US = 20
SPIN_CAN_BE_SHORT = (1, 26)
"""The first onnxruntime that lets a program say for how long."""

TENSOR_TYPES: dict[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(uint8)": np.dtype(np.uint8),
}


class OnnxBackend:
    """One network in an onnxruntime session of its own: on the CPU and on nothing else.

    With `providers` all of it runs on those, and nothing of it on the CPU.
    `optimise` is for a portable file; one that was optimised when it was prepared loads as it is.
    Raises ModelError for what cannot be loaded, DependencyMissing for a provider that is absent.
    """

    def __init__(
        self, model: bytes, *, threads: int, optimise: bool, providers: Sequence[str] = ()
    ) -> None:
        options = session_options(threads, optimise=optimise)
        chosen: list[str | tuple[str, dict[str, str]]] = [PROVIDER]
        if providers:
            options.add_session_config_entry(NO_CPU, "1")
            chosen = [*entries(providers, threads)]
        try:
            session = ort.InferenceSession(model, options, providers=chosen, enable_fallback=0)
        except ONNXRUNTIME_ERRORS as error:
            raise ModelError(
                f"onnxruntime {ort.__version__} cannot load the network: {one_line(error)}",
                f"is all there that {', '.join(providers)} needs?"
                if providers
                else "run: edgefaced models verify",
            ) from error
        if providers and session.get_providers()[0] == PROVIDER:
            raise ModelError(
                f"onnxruntime {ort.__version__} cannot use {', '.join(providers)} here",
                "its libraries or its device are missing",
            )
        # The session keeps the file's bytes for a change of providers that never comes here: 38 MB
        # for SFace. Were this attribute named otherwise, only the memory would be lost.
        session._model_bytes = None
        self._session: ort.InferenceSession | None = session
        self._inputs = tuple(_spec("input", arg) for arg in session.get_inputs())
        self._outputs = tuple(_spec("output", arg) for arg in session.get_outputs())
        self._names = [output.name for output in self._outputs]

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        """Reads a contiguous input in place; the outputs are the caller's own."""
        if self._session is None:
            raise ModelError("the network is closed", "open it again")
        check_feeds(self._inputs, feeds)
        try:
            # Outputs bound beforehand were measured: no faster.
            outputs: Sequence[Tensor] = self._session.run(self._names, dict(feeds))
        except ONNXRUNTIME_ERRORS as error:
            raise ModelError(f"the network failed: {one_line(error)}") from error
        return outputs

    def close(self) -> None:
        self._session = None


def session_options(threads: int, *, optimise: bool) -> ort.SessionOptions:
    """How every session of this program is set up."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = LOG_FATAL_ONLY
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    for key, value in waiting(ort.__version__).items():
        options.add_session_config_entry(key, value)
    # One arena without a plan of a whole run: as fast, and 19 MB less for SCRFD-500M at 640.
    options.enable_mem_pattern = False
    return options


def waiting(version: str) -> dict[str, str]:
    """How the threads of a network wait for each other, as entries of this onnxruntime.

    Threads that sleep at once make two of them little faster than one; those that spin as long as
    they do by default take the core of the next network. Spinning for SPIN_US while a network
    runs, and not afterwards, was measured against sleeping: 0.78 to 0.87 of the time on two quiet
    cores, the same with two networks at once, 1.1 of it on cores that others fill.
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) < SPIN_CAN_BE_SHORT:
        return {"session.intra_op.allow_spinning": "0"}
    return {
        "session.intra_op.spin_duration_us": str(SPIN_US),
        "session.force_spinning_stop": "1",
    }


def one_line(error: Exception) -> str:
    """What a library said, in one line of bounded length."""
    return " ".join(str(error).split()).removeprefix("[ONNXRuntimeError] : ")[:300]


def _spec(what: str, arg: ort.NodeArg) -> TensorSpec:
    if arg.type not in TENSOR_TYPES:
        raise ModelError(
            f"{what} {arg.name!r} is {arg.type} {list(arg.shape)}: it needs float32 or uint8",
            "prepare the network: edgefaced models pull",
        )
    shape = tuple(size if isinstance(size, int) else FREE for size in arg.shape)
    return TensorSpec(arg.name, shape, TENSOR_TYPES[arg.type])
