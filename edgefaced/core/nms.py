"""Non-maximum suppression: of boxes that overlap, the best stays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F32


def suppress(boxes: F32, scores: F32, iou: float) -> NDArray[np.intp]:
    """Indices of the boxes that stay, best first.

    `boxes` (n, 4) left, top, right, bottom; `scores` (n,). Of two boxes whose intersection over
    union is above `iou` the one with the lower score goes; equal scores keep the earlier.
    """
    order = np.argsort(-scores, kind="stable")
    left, top, right, bottom = boxes.T
    areas = np.maximum(right - left, 0) * np.maximum(bottom - top, 0)
    kept: list[int] = []
    while order.size:
        best, rest = order[0], order[1:]
        kept.append(int(best))
        width = np.minimum(right[best], right[rest]) - np.maximum(left[best], left[rest])
        height = np.minimum(bottom[best], bottom[rest]) - np.maximum(top[best], top[rest])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        union = areas[best] + areas[rest] - shared
        order = rest[shared <= iou * union]
    return np.array(kept, dtype=np.intp)
