"""The seams: a Protocol only where two implementations exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgefaced.types import AlignedFace, ColourOrder, Embedding, FaceDetection, Frame, Match

Tensor = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Name, shape and type of one input or output of a loaded network."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class InferenceBackend(Protocol):
    """One loaded network; used and closed by the thread that opened it."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]: ...

    @property
    def outputs(self) -> tuple[TensorSpec, ...]: ...

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        """Outputs in the order of `outputs`; valid until the next `run`. Raises ModelError."""
        ...

    def close(self) -> None:
        """Releases the network; closing twice is allowed, running afterwards is an error."""
        ...


class Detector(Protocol):
    """Finds faces in a frame."""

    def detect(self, frame: Frame) -> list[FaceDetection]:
        """Faces in frame coordinates, highest score first."""
        ...

    def bytes_copied(self, frame: Frame) -> int:
        """Bytes written between the frame's memory and the network's input for one `detect`."""
        ...


class Embedder(Protocol):
    """Turns aligned faces into embeddings of one model."""

    @property
    def model_id(self) -> str: ...

    @property
    def colour_order(self) -> ColourOrder:
        """The order it takes without converting."""
        ...

    def embed(self, face: AlignedFace) -> Embedding:
        """Raises EmbeddingError where the network's answer is not a direction."""
        ...


class GalleryIndex(Protocol):
    """Searches the templates of one model; the templates of a person count as one candidate."""

    @property
    def size(self) -> int:
        """Number of templates."""
        ...

    def search(self, probe: Embedding) -> Match | None:
        """Best person and runner-up, or None for an empty gallery. Raises ModelMismatch."""
        ...


class LiveGalleryIndex(GalleryIndex, Protocol):
    """An index that follows what other processes do to the gallery."""

    def refresh(self) -> bool:
        """Takes over what was committed since; True where anything changed.

        Raises GalleryBusy, GalleryDamaged or ModelMismatch.
        """
        ...
