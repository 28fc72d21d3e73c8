"""Faces before and after: which are found, how far their boxes and landmarks moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgefaced.protocols import Detector
from edgefaced.types import Box, FaceDetection, Frame
from edgefaced_convert.figures import DetectorFigures

SAME_FACE_IOU = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A picture to prove a detector on; `known` its faces where somebody marked them."""

    frame: Frame
    known: tuple[Box, ...] | None = None


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / (a.area + b.area - width * height)


def matched(first: Sequence[Box], second: Sequence[Box]) -> Mapping[int, int]:
    """Places in `second` by places in `first`, best overlap first, each box once."""
    pairs = sorted(
        ((overlap(a, b), i, j) for i, a in enumerate(first) for j, b in enumerate(second)),
        reverse=True,
    )
    found: dict[int, int] = {}
    for shared, i, j in pairs:
        if shared >= SAME_FACE_IOU and i not in found and j not in found.values():
            found[i] = j
    return found


def compare_detectors(
    before: Detector, after: Detector, scenes: Sequence[Scene]
) -> DetectorFigures:
    """Runs both over every scene."""
    overlaps: list[float] = []
    errors: list[float] = []
    count = faces = lost = known = 0
    hits = [0, 0]
    for scene in scenes:
        plain, quantised = before.detect(scene.frame), after.detect(scene.frame)
        pairs = matched(_boxes(plain), _boxes(quantised))
        count, faces = count + len(plain), faces + len(quantised)
        lost += len(plain) - len(pairs)
        for i, j in pairs.items():
            overlaps.append(overlap(plain[i].box, quantised[j].box))
            errors.append(_landmark_error(plain[i], quantised[j]))
        if scene.known is not None:
            known += len(scene.known)
            for which, found in enumerate((quantised, plain)):
                hits[which] += len(matched(scene.known, _boxes(found)))
    return DetectorFigures(
        pictures=len(scenes),
        faces=faces,
        faces_float=count,
        lost=lost,
        box_overlap=float(np.mean(overlaps)) if overlaps else 0.0,
        landmark_error=float(np.mean(errors)) if errors else float("inf"),
        known=known,
        recall=hits[0] / known if known else None,
        recall_float=hits[1] / known if known else None,
    )


def _boxes(faces: Sequence[FaceDetection]) -> list[Box]:
    return [face.box for face in faces]


def _landmark_error(before: FaceDetection, after: FaceDetection) -> float:
    away = np.linalg.norm(before.landmarks - after.landmarks, axis=1).mean()
    return float(away) / before.box.width
