"""Decoding YuNet (Wu et al., "YuNet: A Tiny Millisecond-level Face Detector", 2023).

Per stride and cell: a class score and an objectness whose geometric mean is the face's score, the
box as centre offset and logarithmic size, and five landmark offsets, in units of the stride from
the cell's top left corner.
"""

from __future__ import annotations

import numpy as np

from edgefaced.core.candidates import Candidates, RawRows, points_at
from edgefaced.types import F32

LARGEST_LOG_SIZE = 10.0
"""Beyond e^10 strides nothing is a face; the bound keeps a broken output from overflowing."""


def scores_yunet(classes: F32, objectness: F32) -> F32:
    """The scores of all cells of one stride, from tensors of the same shape, 0..1."""
    scores: F32 = np.sqrt(np.clip(classes, 0, 1) * np.clip(objectness, 0, 1))
    return scores


def decode_yunet(rows: RawRows) -> Candidates:
    """The boxes and landmarks that rows of YuNet stand for."""
    centres = rows.boxes[:, :2]
    halves = np.exp(np.minimum(rows.boxes[:, 2:], LARGEST_LOG_SIZE)) / 2
    ways = np.concatenate([centres - halves, centres + halves, rows.offsets], axis=1)
    return Candidates(points=points_at(ways, rows.cells), scores=rows.scores)
