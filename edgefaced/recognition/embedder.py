"""An embedder: any InferenceBackend with a prepared network, driven by its manifest."""

from __future__ import annotations

import cv2
import numpy as np

from edgefaced.core.embedding import normalise
from edgefaced.errors import EmbeddingError, ModelContractError
from edgefaced.models.manifest import ModelSpec
from edgefaced.protocols import InferenceBackend
from edgefaced.recognition.contract import IMAGE, check_contract
from edgefaced.types import FACE_SIDE_PX, AlignedFace, ColourOrder, Embedding


class NetworkEmbedder:
    """Embeds aligned faces with one loaded network, in whichever channel order they come."""

    def __init__(self, backend: InferenceBackend, spec: ModelSpec) -> None:
        """Raises ModelContractError where the network is not what `spec` promises."""
        if spec.embedding is None:
            raise ModelContractError(f"{spec.id} has no embedding", "it is not an embedder")
        shape = check_contract(backend, spec)
        if shape != (1, FACE_SIDE_PX, FACE_SIDE_PX, 3):
            raise ModelContractError(f"{spec.id} takes {list(shape)}, not [1, 112, 112, 3]")
        self._backend = backend
        self.colour_order: ColourOrder = spec.input.colour_order
        self._dimension = spec.embedding.dimension
        self.model_id: str = spec.embedding.id
        self._output = [output.name for output in backend.outputs].index(spec.embedding.output)

    def rehearse(self) -> None:
        """As `NetworkDetector.rehearse`: black is no face, so what comes out is not looked at."""
        self._backend.run({IMAGE: np.zeros((1, FACE_SIDE_PX, FACE_SIDE_PX, 3), np.uint8)})

    def embed(self, face: AlignedFace) -> Embedding:
        """Raises EmbeddingError where the network's answer is not a direction."""
        pixels = face.pixels
        if face.colour_order is not self.colour_order:
            pixels = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), dtype=np.uint8)
        raw = self._backend.run({IMAGE: pixels[np.newaxis]})[self._output]
        try:
            return normalise(raw, model_id=self.model_id, dimension=self._dimension)
        except EmbeddingError as error:
            raise EmbeddingError(
                error.message, "`edgefaced models verify` checks the model's files"
            ) from error
