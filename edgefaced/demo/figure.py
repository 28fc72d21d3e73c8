"""A person cut out of a photograph, and the same person drawn into a scene.

The cloth at the photograph's lower edge is carried on downwards, so that a figure can stand far
away without ending in mid-air.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F32, F64, U8, Box

Pixels = NDArray[Any]

FEATHER_PX = 1.6
EDGE_PX = 4
"""Transparent columns and rows around a figure: what lies outside of it repeats them."""

# How a turned head moves in the picture, in face widths: the whole head a little around the face's
# centre, the nose, which lies lower, more; a bump's reach is in face widths and heights.
HEAD_SHIFT, HEAD_REACH = 0.16, (0.74, 0.85)
NOSE_SHIFT, NOSE_REACH = 0.11, (0.30, 0.32)
NOSE_BELOW = 0.08

COAT_TAPER = 0.09


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """`pixels` (h, w, 3) BGR and `opacity` (h, w) 0..1 of a person; `face` in those pixels."""

    pixels: U8
    opacity: F32
    face: Box


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a figure's face is in the frame, in pixels, and how the head is held.

    `yaw` -1..1 turns the head to the picture's left or right by up to some 30 degrees.
    """

    x: float
    y: float
    face_width_px: float
    roll_degrees: float = 0.0
    yaw: float = 0.0


def cut_out(photograph: U8, face: Box, outline: Sequence[tuple[int, int]]) -> Figure:
    """The person inside `outline` (pixels of the photograph), with more coat below the edge."""
    height, width = photograph.shape[:2]
    more = height // 2
    inside = np.zeros((height, width), dtype=np.uint8)
    cv2.fillPoly(inside, [np.array(outline, dtype=np.int32)], 255)
    # An outline ends a pixel short of the lower edge; the coat below repeats the last full row.
    last = max(y for _, y in outline)
    opacity = _extend(inside[:last], more)
    _taper(opacity, last)
    opacity = np.asarray(cv2.GaussianBlur(opacity, (0, 0), FEATHER_PX), dtype=np.uint8)
    opacity[:EDGE_PX] = 0
    opacity[:, :EDGE_PX] = 0
    opacity[:, -EDGE_PX:] = 0
    pixels = _extend(photograph[:last], more)
    pixels[last:] = _coat(photograph[:last], more)
    return _figure(pixels, opacity / np.float32(255), face)


def draw(canvas: U8, figure: Figure, pose: Pose) -> Box:
    """Draws a figure in place; returns its face's box in the frame, upright like a detector's."""
    scale = pose.face_width_px / figure.face.width
    turn = cv2.getRotationMatrix2D(figure.face.centre, -pose.roll_degrees, scale)
    matrix = np.asarray(turn, dtype=np.float64)
    matrix[:, 2] += np.array([pose.x, pose.y]) - figure.face.centre
    half_width, half_height = pose.face_width_px / 2, figure.face.height * scale / 2
    face = Box(pose.x - half_width, pose.y - half_height, pose.x + half_width, pose.y + half_height)
    left, top, right = _reach(figure, matrix, canvas.shape[1])
    area = canvas[top:, left:right]
    if area.size == 0:
        return face
    matrix[:, 2] -= (left, top)

    if pose.yaw:
        figure = turn_head(figure, pose.yaw)
    if scale < 0.5:  # area averaging first: a warp alone would alias
        figure = _halved(figure)
        # In the halved picture the centre of pixel i lies where 2i + 0.5 was.
        matrix[:, 2] += matrix[:, :2] @ np.array([0.5, 0.5])
        matrix[:, :2] *= 2
    size = (area.shape[1], area.shape[0])
    drawn = cv2.warpAffine(figure.pixels, matrix, size, borderMode=cv2.BORDER_REPLICATE)
    shown = cv2.warpAffine(figure.opacity, matrix, size, borderMode=cv2.BORDER_REPLICATE)
    area[:] = cv2.blendLinear(drawn, area, shown, 1 - shown)
    return face


def turn_head(figure: Figure, yaw: float) -> Figure:
    """The figure with what is nearer to the camera moved sideways, as a turn of the head does."""
    height, width = figure.pixels.shape[:2]
    centre_x, centre_y = figure.face.centre
    x = (np.arange(width, dtype=np.float32) - centre_x) / figure.face.width
    y = (np.arange(height, dtype=np.float32) - centre_y) / figure.face.height
    head, nose = _bump(x, y, HEAD_REACH), _bump(x, y - NOSE_BELOW, NOSE_REACH)
    shift = yaw * figure.face.width * (HEAD_SHIFT * head + NOSE_SHIFT * nose)
    rows, columns = np.indices((height, width), dtype=np.float32)
    columns -= shift
    pixels = cv2.remap(figure.pixels, columns, rows, cv2.INTER_LINEAR, None, cv2.BORDER_REPLICATE)
    opacity = cv2.remap(figure.opacity, columns, rows, cv2.INTER_LINEAR, None, cv2.BORDER_REPLICATE)
    return _figure(pixels, opacity, figure.face)


def _reach(figure: Figure, matrix: F64, canvas_width: int) -> tuple[int, int, int]:
    """(left, top, right) of the canvas where a figure may show; downwards it has no end."""
    height, width = figure.opacity.shape
    # The last row goes on for ever: twice as far again is below any frame that shows the head.
    corners = np.array([(0, 0), (width, 0), (0, 3 * height), (width, 3 * height)])
    placed = corners @ matrix[:, :2].T + matrix[:, 2]
    left, top = np.floor(placed.min(axis=0))
    right = np.ceil(placed[:, 0].max())
    return int(max(left, 0)), int(max(top, 0)), int(np.clip(right, 0, canvas_width))


def _halved(figure: Figure) -> Figure:
    """Half the size, each pixel the mean of four; the face's box is left as it was."""
    size = (figure.opacity.shape[1] // 2, figure.opacity.shape[0] // 2)
    pixels = cv2.resize(figure.pixels, size, interpolation=cv2.INTER_AREA)
    opacity = cv2.resize(figure.opacity, size, interpolation=cv2.INTER_AREA)
    return _figure(pixels, opacity, figure.face)


def _figure(pixels: Pixels, opacity: Pixels, face: Box) -> Figure:
    return Figure(np.asarray(pixels, dtype=np.uint8), np.asarray(opacity, dtype=np.float32), face)


def _bump(x: F32, y: F32, reach: tuple[float, float]) -> F32:
    """(h, w): 1 in the middle, smoothly 0 at the ellipse with these half-axes and beyond."""
    radius = (x[np.newaxis] / reach[0]) ** 2 + (y[:, np.newaxis] / reach[1]) ** 2
    return np.asarray(np.clip(1 - radius, 0, None) ** 2, dtype=np.float32)


def _extend(image: U8, rows: int) -> U8:
    extended = cv2.copyMakeBorder(image, 0, rows, 0, 0, cv2.BORDER_REPLICATE)
    return np.asarray(extended, dtype=np.uint8)


def _taper(opacity: U8, first: int) -> None:
    """Narrows a coat from row `first` downwards, in place, so that it falls like one."""
    height, width = opacity.shape
    down = np.linspace(0, 1, height - first)
    inset = COAT_TAPER * width * np.sin(down * np.pi / 2)
    columns = np.arange(width)
    across = np.minimum(columns, width - 1 - columns)
    opacity[first:][across[np.newaxis] < inset[:, np.newaxis]] = 0


def _coat(photograph: U8, rows: int) -> U8:
    """Rows below a photograph: its mirror image giving way to the plain cloth of its sides."""
    width = photograph.shape[1]
    mirrored = photograph[-2 : -2 - rows : -1].astype(np.float32)
    sides = np.concatenate(
        (photograph[-12:, : width // 4], photograph[-12:, -width // 4 :]), axis=1
    )
    cloth = np.median(sides.reshape(-1, 3), axis=0)
    across = np.linspace(-1, 1, width, dtype=np.float32)[np.newaxis, :, np.newaxis]
    plain = cloth * (1.05 - 0.35 * across**2 - 0.12 * np.exp(-((across / 0.02) ** 2)))
    share = np.clip(np.linspace(0, 2.2, rows, dtype=np.float32), 0, 1)[:, np.newaxis, np.newaxis]
    share = share * share * (3 - 2 * share)
    shade = np.linspace(1, 0.72, rows, dtype=np.float32)[:, np.newaxis, np.newaxis]
    mixed = (mirrored * (1 - share) + plain * share) * shade
    return np.asarray(np.clip(mixed, 0, 255), dtype=np.uint8)
