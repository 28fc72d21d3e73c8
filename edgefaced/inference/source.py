"""A network that was compiled for a chip, as the back ends load it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgefaced.protocols import TensorSpec


@dataclass(frozen=True, slots=True)
class Needs:
    """Versions that a network needs at least; "" where any will do."""

    model_id: str
    runtime: str
    driver: str


@dataclass(frozen=True, slots=True, eq=False)
class CompiledSource:
    """Its checked bytes, the file they lie in, and the tensors that its record promises.

    The one input is a picture (1, height, width, 3) in uint8; outputs are float32.
    """

    id: str
    target: str
    needs: Needs
    path: Path
    data: bytes
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    @property
    def height(self) -> int:
        return self.inputs[0].shape[1]

    @property
    def width(self) -> int:
        return self.inputs[0].shape[2]
