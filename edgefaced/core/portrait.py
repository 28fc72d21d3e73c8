"""A small picture of a face, or of all a camera saw, for a person to look at later.

Like a network's input it is drawn from the camera's own planes, with no full frame between.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from edgefaced.core.letterbox import Letterbox, fit, trimmed
from edgefaced.core.sampling import bytes_drawn, draw
from edgefaced.types import U8, Box, ColourOrder, Frame

AROUND = 0.3
"""Of the box on every side: hair, chin and what is beside a face that is held into the picture."""


def reduced(frame: Frame, longest_px: int) -> U8:
    """(height, width, 3) in B, G, R, its longer side at most `longest_px`; nothing is enlarged."""
    box = _box(frame, longest_px)
    canvas = np.empty((box.input_height, box.input_width, 3), np.uint8)
    draw(canvas, frame, box, ColourOrder.BGR)
    return canvas[: box.fitted_height, : box.fitted_width]


def bytes_reduced(frame: Frame, longest_px: int) -> int:
    """Bytes that `reduced` writes, whatever lies between included."""
    return bytes_drawn(frame.pixel_format, _box(frame, longest_px))


def around(frame: Frame, face: Box) -> Frame:
    """The part of a frame with a face in it: a view, its edges on pairs of pixels, 2x2 at least."""
    wide, tall = face.width * AROUND, face.height * AROUND
    left, right = _span(face.left - wide, face.right + wide, frame.width)
    top, bottom = _span(face.top - tall, face.bottom + tall, frame.height)
    pixels = frame.pixels[top:bottom, left:right]
    chroma = tuple(plane[top // 2 : bottom // 2, left // 2 : right // 2] for plane in frame.chroma)
    return replace(frame, pixels=pixels, chroma=chroma)


def _span(begin: float, end: float, size: int) -> tuple[int, int]:
    """Even, not empty, and inside the frame; two pixels at its edge for what lies beyond."""
    last = size - size % 2
    # Written so that what is no number leads to an edge.
    begin, end = (begin if begin > 0 else 0.0), (end if end < last else last)
    first = math.floor(min(begin, last - 2) / 2) * 2
    return first, max(math.ceil(end / 2) * 2, first + 2)


def _box(frame: Frame, longest_px: int) -> Letterbox:
    side = min(longest_px, max(frame.width, frame.height))
    return trimmed(fit(frame.width, frame.height, side, side), 2)
