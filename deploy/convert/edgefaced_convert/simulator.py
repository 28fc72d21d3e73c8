"""The toolkit's simulator as a back end: the same code as on the device runs on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from edgefaced.inference.feeds import check_feeds
from edgefaced.protocols import Tensor, TensorSpec
from edgefaced.recognition.contract import IMAGE
from edgefaced_convert.packs import PackNetwork
from edgefaced_convert.toolchain import Api, checked


class SimulatedNetwork:
    """A compiled network in the simulator of the toolkit that made it."""

    def __init__(self, toolkit: Api, network: PackNetwork) -> None:
        side = network.size
        self.toolkit = toolkit
        self._inputs = (TensorSpec(IMAGE, (1, side, side, 3), np.dtype(np.uint8)),)
        # Nothing but a run tells what the compiler made of the outputs' shapes.
        answers = self._infer(np.zeros((1, side, side, 3), np.uint8))
        self._outputs = tuple(
            TensorSpec(output.name, answer.shape, np.dtype(np.float32))
            for output, answer in zip(network.spec.output, answers, strict=True)
        )

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        """Raises ConvertError where the simulator fails."""
        check_feeds(self._inputs, feeds)
        return self._infer(feeds[IMAGE])

    def close(self) -> None:
        """The toolkit belongs to whoever opened it."""

    def _infer(self, image: Tensor) -> list[Tensor]:
        answers, _ = checked(
            "simulation",
            lambda: self.toolkit.inference(inputs=[image], data_format=["nhwc"]),
        )
        return [np.ascontiguousarray(answer, np.float32) for answer in answers]
