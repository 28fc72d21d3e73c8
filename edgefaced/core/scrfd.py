"""Decoding SCRFD (Guo et al., "Sample and Computation Redistribution", arXiv 2105.04714).

Per stride and anchor: a score, the distances from the anchor to the four sides of the box and
five landmark offsets, all but the score in units of the stride. An anchor sits on its cell's
top left corner.
"""

from __future__ import annotations

import numpy as np

from edgefaced.core.candidates import Candidates, RawRows, points_at
from edgefaced.types import F32

OUTWARDS: F32 = np.array([-1, -1] + [1] * 12, np.float32)
"""The first two distances lead left and up."""


def decode_scrfd(rows: RawRows) -> Candidates:
    """The boxes and landmarks that rows of SCRFD stand for."""
    ways = np.concatenate([rows.boxes, rows.offsets], axis=1) * OUTWARDS
    return Candidates(points=points_at(ways, rows.cells), scores=rows.scores)
