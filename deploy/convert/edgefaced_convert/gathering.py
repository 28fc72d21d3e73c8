"""From pictures, or a device's recordings of frames, to the samples of a calibration set."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from edgefaced.core.letterbox import fit
from edgefaced.core.scaling import resize_into
from edgefaced.errors import PictureError
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.recognition.recogniser import FaceObservation, Recogniser
from edgefaced.types import U8, ColourOrder
from edgefaced_convert.balance import balanced
from edgefaced_convert.calset import Part, Sample
from edgefaced_convert.conditions import Condition, Figures, condition_of, figures_of

FRAME_SIDE_PX = 640
"""Frames are kept within a square of this: the largest input of a detector."""
HELD_OUT_OF = 3
"""One picture of so many is kept to prove by."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One face of one picture, by number, and its figures; no pixels, so thousands fit."""

    picture: Path
    face: int
    figures: Figures
    condition: Condition


def look_at(recogniser: Recogniser, path: Path) -> list[Seen]:
    """What was measured of a picture's faces; an unreadable one has none."""
    pixels = _pixels(path)
    if pixels is None:
        return []
    seen = []
    for number, face in enumerate(_observed(recogniser, pixels)):
        figures = figures_of(face.aligned.pixels, pixels, face.quality)
        seen.append(Seen(path, number, figures, condition_of(figures)))
    return seen


def part_of(picture: Path) -> Part:
    """By the file's name: all faces of one picture are in one part, whatever else is there."""
    digest = hashlib.sha256(picture.name.encode(errors="surrogateescape")).digest()
    return Part.HELD_OUT if digest[0] % HELD_OUT_OF == 0 else Part.CALIBRATE


def choose(seen: Sequence[Seen], wanted: dict[Part, int]) -> list[Seen]:
    """A balanced choice for each part."""
    chosen: list[Seen] = []
    for part, count in wanted.items():
        of_part = [one for one in seen if part_of(one.picture) is part]
        chosen += [of_part[at] for at in balanced([one.condition for one in of_part], count)]
    return chosen


def faces_of(recogniser: Recogniser, chosen: Sequence[Seen]) -> list[Sample]:
    """The aligned faces of what was chosen, RGB."""
    samples = []
    for one in chosen:
        pixels = _pixels(one.picture)
        if pixels is None:
            continue
        aligned = _observed(recogniser, pixels)[one.face].aligned
        rgb = aligned.pixels
        if aligned.colour_order is ColourOrder.BGR:
            rgb = np.asarray(cv2.cvtColor(rgb, cv2.COLOR_BGR2RGB), np.uint8)
        samples.append(Sample(rgb, part_of(one.picture), one.figures))
    return samples


def frames_of(chosen: Sequence[Seen]) -> list[Sample]:
    """The pictures of what was chosen, RGB, within FRAME_SIDE_PX; each picture once."""
    samples = []
    for path, one in {one.picture: one for one in chosen}.items():
        pixels = _pixels(path)
        if pixels is not None:
            samples.append(Sample(_fitted(pixels), part_of(path), one.figures))
    return samples


def _fitted(pixels: U8) -> U8:
    height, width = pixels.shape[:2]
    if max(height, width) > FRAME_SIDE_PX:
        box = fit(width, height, FRAME_SIDE_PX, FRAME_SIDE_PX)
        smaller = np.empty((box.fitted_height, box.fitted_width, 3), np.uint8)
        resize_into(smaller, pixels)
        pixels = smaller
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), np.uint8)


def _observed(recogniser: Recogniser, pixels: U8) -> list[FaceObservation]:
    return recogniser.observe(frame_of(pixels))


def _pixels(path: Path) -> U8 | None:
    try:
        return read_picture(path)
    except PictureError:
        return None
