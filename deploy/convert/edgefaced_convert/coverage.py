"""What a calibration set covers: a table of counts, and a sheet of its faces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import cv2
import numpy as np

from edgefaced.types import FACE_SIDE_PX, U8
from edgefaced_convert.calset import Sample
from edgefaced_convert.conditions import Distance, Figures, Light, Pose, condition_of

THIN_SHARE = 0.05
"""A condition with a smaller share of the set is called thin."""
ACROSS = 12
LABEL_PX = 20


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many faces there are of each light, pose and distance."""

    faces: int
    counts: dict[StrEnum, int]

    @property
    def thin(self) -> tuple[StrEnum, ...]:
        """Conditions that are missing or nearly: the network is not calibrated for them."""
        return tuple(c for c, n in self.counts.items() if n < THIN_SHARE * self.faces or not n)


def coverage_of(measured: Iterable[Figures]) -> Coverage:
    """Every condition is listed, those without a face too."""
    conditions = [condition_of(figures) for figures in measured]
    had = Counter[StrEnum](value for condition in conditions for value in condition)
    every: tuple[StrEnum, ...] = (*Light, *Pose, *Distance)
    return Coverage(len(conditions), {value: had[value] for value in every})


def contact_sheet(faces: Sequence[Sample]) -> U8:
    """The faces in rows of one light each, BGR, with the light's name above."""
    rows: list[U8] = []
    for light in Light:
        of_light = [
            sample.pixels
            for sample in faces
            if sample.figures is not None and condition_of(sample.figures)[0] is light
        ]
        rows.append(_label(f"{light}: {len(of_light)}"))
        for start in range(0, len(of_light), ACROSS):
            row = np.zeros((FACE_SIDE_PX, ACROSS * FACE_SIDE_PX, 3), np.uint8)
            for place, pixels in enumerate(of_light[start : start + ACROSS]):
                left = place * FACE_SIDE_PX
                row[:, left : left + FACE_SIDE_PX] = pixels[:, :, ::-1]
            rows.append(row)
    return np.concatenate(rows)


def _label(text: str) -> U8:
    strip = np.zeros((LABEL_PX, ACROSS * FACE_SIDE_PX, 3), np.uint8)
    white = (255, 255, 255)
    cv2.putText(strip, text, (4, 15), cv2.FONT_HERSHEY_SIMPLEX, 0.5, white, 1, cv2.LINE_AA)
    return strip
