"""A network with a clock around it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from edgefaced.protocols import InferenceBackend, Tensor, TensorSpec


class ClockedBackend:
    """An InferenceBackend that knows how long the last `run` of the one it wraps took."""

    def __init__(self, backend: InferenceBackend) -> None:
        self._backend = backend
        self.last_ns = 0

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._backend.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._backend.outputs

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        start = time.perf_counter_ns()
        outputs = self._backend.run(feeds)
        self.last_ns = time.perf_counter_ns() - start
        return outputs

    def close(self) -> None:
        self._backend.close()
