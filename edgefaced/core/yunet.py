"""Decoding YuNet (Wu et al., "YuNet: A Tiny Millisecond-level Face Detector", 2023).

Per stride and cell: a class score and an objectness whose geometric mean is the face's score, the
box as centre offset and logarithmic size, and five landmark offsets, in units of the stride from
the cell's top left corner.
"""

from __future__ import annotations

import numpy as np

from edgefaced.core.candidates import NOTHING, Candidates, cell_origins
from edgefaced.types import F32

LARGEST_LOG_SIZE = 10.0
"""Beyond e^10 strides nothing is a face; the bound keeps a broken output from overflowing."""


def decode_yunet(
    classes: F32,
    objectness: F32,
    boxes: F32,
    offsets: F32,
    *,
    input_width: int,
    input_height: int,
    stride: int,
    threshold: float,
) -> Candidates:
    """Candidates of one stride at or above `threshold`.

    `classes` and `objectness` n values, `boxes` n x 4, `offsets` n x 10 in any shape that holds
    them, with n = rows * columns. Raises ValueError for another n.
    """
    origins = cell_origins(input_width, input_height, stride, 1)
    flat = np.clip(classes.reshape(-1), 0, 1) * np.clip(objectness.reshape(-1), 0, 1)
    if flat.shape[0] != origins.shape[0]:
        raise ValueError(f"stride {stride}: {flat.shape[0]} scores, not {origins.shape[0]}")
    chosen = np.flatnonzero(flat >= threshold * threshold)
    if not chosen.size:
        return NOTHING
    corner = origins[chosen]
    step = np.float32(stride)
    raw = boxes.reshape(-1, 4)[chosen]
    centres = raw[:, :2] * step + corner
    halves = np.exp(np.minimum(raw[:, 2:], LARGEST_LOG_SIZE)) * (step / 2)
    return Candidates(
        boxes=np.concatenate([centres - halves, centres + halves], axis=1),
        landmarks=offsets.reshape(-1, 5, 2)[chosen] * step + corner[:, None],
        scores=np.sqrt(flat[chosen]),
    )
