"""Decoding SCRFD (Guo et al., "Sample and Computation Redistribution", arXiv 2105.04714).

Per stride and anchor: a score, the distances from the anchor to the four sides of the box and
five landmark offsets, all but the score in units of the stride. An anchor sits on its cell's
top left corner.
"""

from __future__ import annotations

import numpy as np

from edgefaced.core.candidates import NOTHING, Candidates, cell_origins
from edgefaced.types import F32


def decode_scrfd(
    scores: F32,
    distances: F32,
    offsets: F32,
    *,
    input_width: int,
    input_height: int,
    stride: int,
    anchors: int,
    threshold: float,
) -> Candidates:
    """Candidates of one stride at or above `threshold`.

    `scores` n values, `distances` n x 4, `offsets` n x 10 in any shape that holds them, with
    n = rows * columns * anchors. Raises ValueError for another n.
    """
    origins = cell_origins(input_width, input_height, stride, anchors)
    flat = scores.reshape(-1)
    if flat.shape[0] != origins.shape[0]:
        raise ValueError(f"stride {stride}: {flat.shape[0]} scores, not {origins.shape[0]}")
    chosen = np.flatnonzero(flat >= threshold)
    if not chosen.size:
        return NOTHING
    centres = origins[chosen]
    sides = distances.reshape(-1, 4)[chosen] * np.float32(stride)
    boxes = np.concatenate([centres - sides[:, :2], centres + sides[:, 2:]], axis=1)
    landmarks = offsets.reshape(-1, 5, 2)[chosen] * np.float32(stride) + centres[:, None]
    return Candidates(boxes=boxes, landmarks=landmarks, scores=flat[chosen])
