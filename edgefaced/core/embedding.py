"""From a network's raw output to a direction, or to an error."""

from __future__ import annotations

import cv2
import numpy as np

from edgefaced.errors import EmbeddingError
from edgefaced.types import F32, Embedding

SMALLEST_LENGTH, LARGEST_LENGTH = 1e-6, 1e38
"""Beyond these a float32 has no direction to speak of."""


def normalise(raw: F32, *, model_id: str, dimension: int) -> Embedding:
    """The unit vector of `raw` (any shape of `dimension` values).

    Raises EmbeddingError for another size, NaN, infinity or a vector without length.
    """
    if raw.size != dimension:
        raise EmbeddingError(f"{model_id} gives {dimension} values, not {raw.size}")
    vector = raw.reshape(-1)
    length = cv2.norm(vector)  # added up in float64
    if not SMALLEST_LENGTH < length < LARGEST_LENGTH:  # also false for NaN
        raise EmbeddingError(f"{model_id} gave an embedding of length {length:g}")
    return Embedding(vector=vector / np.float32(length), model_id=model_id)
