"""A network with a clock around it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from edgefaced.protocols import InferenceBackend, Tensor, TensorSpec
from edgefaced.recognition.detector import DrawnInto
from edgefaced.types import U8


class ClockedBackend:
    """An InferenceBackend that knows how long the last `run` of the one it wraps took.

    `bytes_in` and `bytes_out` are what that run was given and gave.
    """

    def __init__(self, backend: InferenceBackend) -> None:
        self._backend = backend
        self.last_ns = 0
        self.bytes_in = 0
        self.bytes_out = 0

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._backend.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._backend.outputs

    @property
    def picture(self) -> U8 | None:
        """Memory to draw into, where the wrapped one has some: its way is the one to be timed."""
        return self._backend.picture if isinstance(self._backend, DrawnInto) else None

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        start = time.perf_counter_ns()
        outputs = self._backend.run(feeds)
        self.last_ns = time.perf_counter_ns() - start
        self.bytes_in = sum(tensor.nbytes for tensor in feeds.values())
        self.bytes_out = sum(tensor.nbytes for tensor in outputs)
        return outputs

    def close(self) -> None:
        self._backend.close()
