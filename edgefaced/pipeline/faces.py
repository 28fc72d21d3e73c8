"""What the detecting stage hands to the recognising one: own copies of faces, no frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edgefaced.core.tracking import Track
from edgefaced.types import F32, U8, AlignedFace, Box, FaceDetection, Frame, Quality


@dataclass(frozen=True, slots=True, eq=False)
class SeenFace:
    """One face of one frame, upright and measured; `detection` is in full-resolution pixels.

    `faults` are the gates of quality that it fails.
    """

    track: Track
    detection: FaceDetection
    aligned: AlignedFace
    quality: Quality
    faults: tuple[str, ...]
    picture: U8 | None = None
    """In B, G, R, for people to look at; only where the configuration asks for pictures."""


@dataclass(frozen=True, slots=True, eq=False)
class FaceBatch:
    """All faces of one frame, and the tracks that have left since the batch before."""

    sequence: int
    captured_ns: int
    faces: tuple[SeenFace, ...]
    left: tuple[Track, ...]


def enlarged(detection: FaceDetection, small: Frame, full: Frame) -> FaceDetection:
    """A detection of the small stream, in coordinates of the full-resolution frame."""
    if (small.width, small.height) == (full.width, full.height):
        return detection
    scale = np.array([full.width / small.width, full.height / small.height], np.float32)

    def moved(points: F32) -> F32:
        return (points + np.float32(0.5)) * scale - np.float32(0.5)

    box = detection.box
    corners = moved(np.array([[box.left, box.top], [box.right, box.bottom]], np.float32))
    (left, top), (right, bottom) = corners.tolist()
    return replace(
        detection, box=Box(left, top, right, bottom), landmarks=moved(detection.landmarks)
    )
