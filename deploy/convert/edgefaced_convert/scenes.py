"""Pictures to prove a detector on: folders of them, with the marks of dlib's imglab beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from edgefaced.errors import PictureError
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.pictures.find import find_pictures
from edgefaced.types import U8, Box
from edgefaced_convert.proof_detector import Scene

_IMAGE = re.compile(r"<image\s[^>]*?file='([^']+)'[^>]*?>(.*?)</image>", re.DOTALL)
_BOX = re.compile(r"<box\s([^>]*)>")
_SIDE = re.compile(r"(top|left|width|height)='(-?\d+)'")


def scenes_in(paths: Sequence[Path]) -> list[Scene]:
    """Every readable picture of these files and folders. Raises PictureError for a folder."""
    scenes: list[Scene] = []
    marks: dict[Path, dict[str, tuple[Box, ...]]] = {}
    for path in find_pictures(paths):
        if path.parent not in marks:
            marks[path.parent] = _marks_in(path.parent)
        try:
            pixels = read_picture(path)
        except PictureError:
            continue
        scenes.append(Scene(frame_of(pixels), marks[path.parent].get(path.name)))
    return scenes


def scenes_of(pictures: Sequence[U8]) -> list[Scene]:
    """RGB pictures of a calibration set."""
    return [
        Scene(frame_of(np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), np.uint8)))
        for picture in pictures
    ]


def parse_marks(text: str) -> dict[str, tuple[Box, ...]]:
    """The boxes that an imglab file gives each picture; those marked "ignore" are left out."""
    found: dict[str, tuple[Box, ...]] = {}
    for name, body in _IMAGE.findall(text):
        boxes = []
        for attributes in _BOX.findall(body):
            side = {key: float(value) for key, value in _SIDE.findall(attributes)}
            if len(side) == 4 and "ignore='1'" not in attributes:
                left, top = side["left"], side["top"]
                boxes.append(Box(left, top, left + side["width"], top + side["height"]))
        found[name] = tuple(boxes)
    return found


def _marks_in(folder: Path) -> dict[str, tuple[Box, ...]]:
    found: dict[str, tuple[Box, ...]] = {}
    for path in sorted(folder.glob("*.xml")):
        for name, boxes in parse_marks(path.read_text(errors="replace")).items():
            found[name] = found.get(name, ()) + boxes
    return found
