"""What a detector's decoder finds in one input, before it becomes faces of the frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from edgefaced.core.letterbox import Letterbox
from edgefaced.core.nms import suppress
from edgefaced.types import F32, Box, FaceDetection


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """`boxes` (n, 4), `landmarks` (n, 5, 2) in input pixels and `scores` (n,) in 0..1."""

    boxes: F32
    landmarks: F32
    scores: F32


@lru_cache(maxsize=128)
def cell_origins(input_width: int, input_height: int, stride: int, anchors: int) -> F32:
    """Top left corner of each anchor's cell, (rows * columns * anchors, 2), row by row.

    Raises ValueError where the stride does not divide the input: cells would be missing.
    """
    if input_width % stride or input_height % stride:
        raise ValueError(f"stride {stride} does not divide {input_width}x{input_height}")
    rows, columns = np.mgrid[: input_height // stride, : input_width // stride]
    corners = np.stack([columns, rows], axis=-1).reshape(-1, 2) * np.float32(stride)
    origins = np.repeat(corners, anchors, axis=0).astype(np.float32)
    origins.flags.writeable = False
    return origins


NOTHING = Candidates(
    boxes=np.empty((0, 4), np.float32),
    landmarks=np.empty((0, 5, 2), np.float32),
    scores=np.empty(0, np.float32),
)


def join(parts: Sequence[Candidates]) -> Candidates:
    """The candidates of all strides as one."""
    found = [part for part in parts if part.scores.size]
    if len(found) < 2:
        return found[0] if found else NOTHING
    return Candidates(
        boxes=np.concatenate([p.boxes for p in found]),
        landmarks=np.concatenate([p.landmarks for p in found]),
        scores=np.concatenate([p.scores for p in found]),
    )


def faces_of(candidates: Candidates, box: Letterbox, nms_iou: float) -> list[FaceDetection]:
    """Faces in frame pixels, best first; candidates with NaN or infinity are dropped."""
    if not candidates.scores.size:
        return []
    boxes, landmarks, scores = candidates.boxes, candidates.landmarks, candidates.scores
    if not all(cv2.checkRange(part)[0] for part in (boxes, landmarks, scores)):
        finite = np.isfinite(boxes).all(axis=1) & np.isfinite(landmarks).all(axis=(1, 2))
        finite &= np.isfinite(scores)
        boxes, landmarks, scores = boxes[finite], landmarks[finite], scores[finite]
    kept = suppress(boxes, scores, nms_iou)
    corners = box.to_frame(boxes[kept].reshape(-1, 2, 2)).reshape(-1, 4)
    return [
        FaceDetection(box=Box(*sides), landmarks=points, score=score)
        for sides, points, score in zip(
            corners.tolist(), box.to_frame(landmarks[kept]), scores[kept].tolist(), strict=True
        )
    ]
