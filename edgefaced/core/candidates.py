"""What a detector's decoder finds in one input, before it becomes faces of the frame.

A stride's tensors are thinned to the rows above the threshold first; arithmetic is done once, on
what is left of all strides.
"""

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
class RawRows:
    """A network's own numbers where it saw a face: `cells` (n, 3), `scores` (n,), `boxes` (n, 4)
    and `offsets` (n, 10) of the landmarks.
    """

    cells: F32
    scores: F32
    boxes: F32
    offsets: F32


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """`points` (n, 7, 2): left top and right bottom of the box, then five landmarks, in input
    pixels; `scores` (n,) in 0..1.
    """

    points: F32
    scores: F32


@lru_cache(maxsize=128)
def cells_of(input_width: int, input_height: int, stride: int, anchors: int) -> F32:
    """Each anchor's cell, (rows * columns * anchors, 3): its top left corner and the stride.

    Row by row. Raises ValueError where the stride does not divide the input: cells would be
    missing.
    """
    if input_width % stride or input_height % stride:
        raise ValueError(f"stride {stride} does not divide {input_width}x{input_height}")
    rows, columns = np.mgrid[: input_height // stride, : input_width // stride]
    cells = np.stack([columns, rows, np.ones_like(rows)], axis=-1).reshape(-1, 3) * stride
    repeated = np.repeat(cells, anchors, axis=0).astype(np.float32)
    repeated.flags.writeable = False
    return repeated


def rows_above(
    threshold: float, scores: F32, boxes: F32, offsets: F32, cells: F32
) -> RawRows | None:
    """The rows of one stride that score `threshold` or more; None where no row does.

    `scores` n values, `boxes` n x 4, `offsets` n x 10 in any shape that holds them. Raises
    ValueError unless there are as many as cells.
    """
    flat, n = scores.reshape(-1), cells.shape[0]
    if (flat.size, boxes.size, offsets.size) != (n, 4 * n, 10 * n):
        raise ValueError(
            f"stride {cells[0, 2]:g}: {flat.size} scores, {boxes.size} sides and {offsets.size} "
            f"offsets, not {n}, {4 * n} and {10 * n}"
        )
    chosen = np.flatnonzero(flat >= threshold)
    if not chosen.size:
        return None
    return RawRows(
        cells=cells[chosen],
        scores=flat[chosen],
        boxes=boxes.reshape(-1, 4)[chosen],
        offsets=offsets.reshape(-1, 10)[chosen],
    )


def join(parts: Sequence[RawRows]) -> RawRows:
    """The rows of several strides as one. ValueError without a part."""
    if len(parts) == 1:
        return parts[0]
    return RawRows(
        cells=np.concatenate([part.cells for part in parts]),
        scores=np.concatenate([part.scores for part in parts]),
        boxes=np.concatenate([part.boxes for part in parts]),
        offsets=np.concatenate([part.offsets for part in parts]),
    )


def points_at(ways: F32, cells: F32) -> F32:
    """(n, 7, 2) points in input pixels, from `ways` (n, 14) to them: x and y in turn, in strides,
    from their `cells` (n, 3).
    """
    places = cells[:, None]
    points: F32 = ways.reshape(-1, 7, 2) * places[..., 2:] + places[..., :2]
    return points


def faces_of(candidates: Candidates, box: Letterbox, nms_iou: float) -> list[FaceDetection]:
    """Faces in frame pixels, best first; candidates with NaN or infinity are dropped."""
    points, scores = candidates.points, candidates.scores
    if not (cv2.checkRange(points)[0] and cv2.checkRange(scores)[0]):
        finite = np.isfinite(points).all(axis=(1, 2)) & np.isfinite(scores)
        points, scores = points[finite], scores[finite]
    kept = suppress(points[:, :2].reshape(-1, 4), scores, nms_iou)
    return [
        FaceDetection(
            box=Box(*found[:2].ravel().tolist()), landmarks=found[2:], score=float(scores[index])
        )
        for index, found in zip(kept, box.to_frame(points[kept]), strict=True)
    ]
