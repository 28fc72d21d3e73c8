"""Faces of one colour, and a recogniser for them: enrolment without networks.

A face is a square of a bright colour on black; its colour says whose it is, so that nearly equal
colours are pictures of one person. A white line along the upper edge says where its top is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from edgefaced.core.align import TEMPLATE
from edgefaced.core.gates import QualityLimits
from edgefaced.pictures.write import write_picture
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.types import (
    FACE_SIDE_PX,
    U8,
    AlignedFace,
    Box,
    ColourOrder,
    Embedding,
    FaceDetection,
    Frame,
)

Colour = tuple[int, int, int]
RED, GREEN, BLUE, YELLOW = (40, 40, 220), (40, 220, 40), (220, 40, 40), (40, 220, 220)
MIDDLE = Box(100, 60, 200, 160)
STRIPES = 5
MODEL = "painted"
EVERYTHING = QualityLimits(
    minimum_interocular_px=0,
    minimum_sharpness=0,
    minimum_brightness=0,
    maximum_brightness=255,
    minimum_contrast=0,
    maximum_clipped=1,
    maximum_yaw=1,
    maximum_pitch=1,
    maximum_roll_degrees=180,
    minimum_inside=0,
    minimum_symmetry=-1,
)


def picture(*faces: tuple[Colour, Box], width: int = 320, height: int = 240) -> U8:
    """A black picture with faces."""
    pixels = np.zeros((height, width, 3), np.uint8)
    for colour, box in faces:
        left, top, right, bottom = (int(v) for v in (box.left, box.top, box.right, box.bottom))
        pixels[top:bottom, left:right] = colour
        pixels[top : top + max(1, (bottom - top) // 20), left:right] = 255
    return pixels


def portrait(folder: Path, name: str, colour: Colour, number: int | None = None) -> Path:
    """A file with one face in the middle; with a `number`, one picture of many of the person.

    Two numbers give a cosine of about 0.98: stripes of slightly other colours.
    """
    pixels = picture((colour, MIDDLE))
    if number is not None:
        rng = np.random.default_rng(number)
        for stripe in range(STRIPES):
            columns = slice(100 + stripe * 100 // STRIPES, 100 + (stripe + 1) * 100 // STRIPES)
            other = np.array(colour) + rng.integers(-25, 26, 3)
            pixels[65:160, columns] = other.clip(0, 255)
    path = folder / f"{name}.png"
    write_picture(path, pixels)
    return path


@dataclass(frozen=True, slots=True)
class PaintedDetector:
    """Finds faces whose sides are from `smallest` to `largest` of the frame's longer side."""

    smallest: float = 0.1
    largest: float = 0.8

    def detect(self, frame: Frame) -> list[FaceDetection]:
        bright = (frame.pixels.max(axis=2) > 150).astype(np.uint8)
        count, _, stats, _ = cv2.connectedComponentsWithStats(bright)
        found: list[FaceDetection] = []
        for x, y, width, height, _ in stats[1:count].tolist():
            if not self.smallest <= max(width, height) / max(frame.pixels.shape) <= self.largest:
                continue
            landmarks = TEMPLATE / FACE_SIDE_PX * np.array([width, height]) + np.array([x, y])
            box = Box(x, y, x + width, y + height)
            found.append(FaceDetection(box, landmarks.astype(np.float32), self._score(frame, box)))
        return sorted(found, key=lambda face: -face.score)

    def bytes_copied(self, frame: Frame) -> int:
        return frame.pixels.nbytes

    def _score(self, frame: Frame, box: Box) -> float:
        upper, lower = int(box.top), int(box.bottom) - 1
        white = [int(frame.pixels[row, int(box.left) :][:3].min()) for row in (upper, lower)]
        return 0.9 if white[0] > white[1] else 0.6


@dataclass(frozen=True, slots=True)
class PaintedEmbedder:
    """The colours of vertical stripes as a direction."""

    model_id: str = MODEL
    colour_order: ColourOrder = ColourOrder.RGB

    def embed(self, face: AlignedFace) -> Embedding:
        rgb = face.pixels if face.colour_order is ColourOrder.RGB else face.pixels[:, :, ::-1]
        stripes = np.array_split(rgb[30:100], STRIPES, axis=1)
        vector = np.concatenate([stripe.mean(axis=(0, 1)) for stripe in stripes])
        return Embedding((vector / np.linalg.norm(vector)).astype(np.float32), self.model_id)


def painted_recogniser(smallest: float = 0.1, largest: float = 0.8) -> Recogniser:
    return Recogniser(PaintedDetector(smallest, largest), PaintedEmbedder(), ())
