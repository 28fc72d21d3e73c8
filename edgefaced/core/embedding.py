"""From a network's raw output to a direction, or to an error."""

from __future__ import annotations

import math

import numpy as np

from edgefaced.errors import EmbeddingError
from edgefaced.types import F32, Embedding

SMALLEST_LENGTH = 1e-6


def normalise(raw: F32, *, model_id: str, dimension: int) -> Embedding:
    """The unit vector of `raw` (any shape of `dimension` values).

    Raises EmbeddingError for another size, NaN, infinity or a vector without length.
    """
    if raw.size != dimension:
        raise EmbeddingError(f"{model_id} gives {dimension} values, not {raw.size}")
    vector = raw.reshape(-1).astype(np.float64)
    length = math.sqrt(vector @ vector)
    if not SMALLEST_LENGTH < length < np.inf:  # also false for NaN
        raise EmbeddingError(f"{model_id} gave an embedding of length {length:g}")
    return Embedding(vector=(vector / length).astype(np.float32), model_id=model_id)
