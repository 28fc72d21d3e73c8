"""Non-maximum suppression: of boxes that overlap, the best stays."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F32


def suppress(boxes: F32, scores: F32, iou: float) -> NDArray[np.intp]:
    """Indices of the boxes that stay, best first.

    `boxes` (n, 4) left, top, right, bottom; `scores` (n,), all above 0. Of two boxes whose
    intersection over union is above `iou` the one with the lower score goes; equal scores keep the
    earlier.
    """
    rects = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    # As lists: OpenCV's binding takes them apart twice as fast as rows of an array.
    kept = cv2.dnn.NMSBoxes(rects.tolist(), scores.tolist(), 0.0, iou)
    return np.asarray(kept, np.intp)
