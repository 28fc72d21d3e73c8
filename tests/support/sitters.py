"""People who sit for an enrolment: faces as the pipeline has them, of painted colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from painted_faces import EVERYTHING, MODEL, Colour, PaintedEmbedder

from edgefaced.core.align import TEMPLATE
from edgefaced.core.tracking import Tracker
from edgefaced.enrolment.enrol import EnrolmentPolicy
from edgefaced.gallery.store import Gallery
from edgefaced.pipeline.faces import FaceBatch, SeenFace
from edgefaced.pipeline.tap import FaceTap
from edgefaced.protocols import Embedder
from edgefaced.sitting import Sitting
from edgefaced.types import AlignedFace, Box, ColourOrder, FaceDetection, Quality

FRONTAL = Quality(
    interocular_px=80,
    sharpness=100,
    brightness=120,
    contrast=40,
    clipped=0,
    yaw=0,
    pitch=0,
    roll_degrees=0,
    inside=1,
    symmetry=0.9,
)
POSES = (
    FRONTAL,
    replace(FRONTAL, yaw=0.3),
    replace(FRONTAL, yaw=-0.3),
    replace(FRONTAL, pitch=-0.2),
    replace(FRONTAL, pitch=0.2),
)
LIMITS = replace(EVERYTHING, minimum_brightness=25)


def seen(colour: Colour, quality: Quality = FRONTAL, number: int = 0) -> SeenFace:
    """One face; other numbers are slightly other pictures of the person."""
    detection = FaceDetection(Box(0, 0, 100, 100), TEMPLATE.astype(np.float32), 0.9)
    (track,) = Tracker().update([detection], 0.0).tracks
    pixels = np.empty((112, 112, 3), np.uint8)
    noise = np.random.default_rng(number)
    for columns in np.array_split(np.arange(112), 5):
        pixels[:, columns] = (np.array(colour) + noise.integers(-25, 26, 3)).clip(0, 255)
    return SeenFace(track, detection, AlignedFace(pixels, ColourOrder.BGR), quality, ())


def batch(*faces: SeenFace) -> FaceBatch:
    return FaceBatch(0, 0, faces, ())


def sitting(
    folder: Path, tap: FaceTap, hindrance: Callable[[], str] = str, *, extend: bool = False
) -> Sitting:
    """On a gallery of painted faces in `folder`."""

    @contextmanager
    def open_embedder() -> Iterator[Embedder]:
        yield PaintedEmbedder()

    return Sitting(
        tap=tap,
        hindrance=hindrance,
        limits=LIMITS,
        model_id=MODEL,
        open_gallery=lambda: Gallery.open(folder / "g.db", folder / "g.key", create=True),
        open_embedder=open_embedder,
        policy=EnrolmentPolicy(
            limits=LIMITS, threshold=lambda size: 0.9, minimum_margin=0.02, extend=extend
        ),
    )
