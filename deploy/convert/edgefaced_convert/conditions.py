"""The conditions of a picture of a face, by measured figures: light, pose, distance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import cv2
import numpy as np

from edgefaced.core.quality import INNER
from edgefaced.types import U8, Quality


class Light(StrEnum):
    """What the face was lit by."""

    DAY = "day"
    DUSK = "dusk"
    NIGHT = "night"
    BACK_LIGHT = "back-light"
    IR = "IR or grey"


class Pose(StrEnum):
    """Where the face looks."""

    FRONTAL = "frontal"
    TURNED = "turned"
    NODDING = "up or down"


class Distance(StrEnum):
    """By the distance between the eyes in the frame, as a share of its larger side."""

    NEAR = "near"
    MIDDLE = "middle"
    FAR = "far"


Condition = tuple[Light, Pose, Distance]

GREYEST = 3.0
"""Mean difference between a pixel's strongest and weakest channel below which there is no colour:
JPEG's chroma leaves about two."""
BRIGHTER_BEHIND = 50.0
NIGHT_BELOW, DUSK_BELOW = 60.0, 100.0
"""Mean luma of the face."""
TURNED_FROM, NODDING_FROM = 0.30, 0.25
FAR_BELOW, NEAR_FROM = 0.04, 0.12


@dataclass(frozen=True, slots=True)
class Figures:
    """What is kept of a picture to compare sets by: numbers only, of no use to recognise anybody.

    `surroundings` mean luma of the frame; `colour` mean channel difference of the face;
    `eye_share` distance of the eyes over the frame's larger side.
    """

    brightness: float
    contrast: float
    surroundings: float
    colour: float
    eye_share: float
    yaw: float
    pitch: float


def figures_of(face: U8, frame: U8, quality: Quality) -> Figures:
    """Of an aligned face (112, 112, 3) in a frame (height, width, 3), channels in any order."""
    inner = face[INNER].astype(np.int16)
    small = cv2.resize(frame, (32, 32), interpolation=cv2.INTER_AREA)
    return Figures(
        brightness=quality.brightness,
        contrast=quality.contrast,
        surroundings=float(small.mean()),
        colour=float((inner.max(axis=2) - inner.min(axis=2)).mean()),
        eye_share=quality.interocular_px / max(frame.shape[:2]),
        yaw=quality.yaw,
        pitch=quality.pitch,
    )


def condition_of(figures: Figures) -> Condition:
    """The cell of a balanced set that a picture belongs to."""
    if figures.colour < GREYEST:
        light = Light.IR
    elif figures.surroundings - figures.brightness > BRIGHTER_BEHIND:
        light = Light.BACK_LIGHT
    elif figures.brightness < NIGHT_BELOW:
        light = Light.NIGHT
    else:
        light = Light.DUSK if figures.brightness < DUSK_BELOW else Light.DAY
    if abs(figures.yaw) >= TURNED_FROM:
        pose = Pose.TURNED
    else:
        pose = Pose.NODDING if abs(figures.pitch) >= NODDING_FROM else Pose.FRONTAL
    if figures.eye_share < FAR_BELOW:
        return light, pose, Distance.FAR
    return light, pose, Distance.NEAR if figures.eye_share >= NEAR_FROM else Distance.MIDDLE
