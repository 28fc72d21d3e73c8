"""Drawing on BGR pictures: boxes, landmarks and labels, and sheets of labelled pictures.

Text is drawn with a font of the system where one of the usual is installed, else with the small one
inside Pillow: accents fall off there, and other letters that it lacks become boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import combining, normalize

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from edgefaced.types import F32, U8, Box, Outcome

Colour = tuple[int, int, int]
"""Blue, green, red."""

COLOURS: dict[Outcome, Colour] = {
    Outcome.KNOWN: (80, 175, 40),
    Outcome.UNKNOWN: (40, 130, 235),
    Outcome.SPOOF: (50, 40, 215),
    Outcome.TOO_POOR: (140, 140, 140),
}
PAPER: Colour = (245, 245, 245)
INK: Colour = (30, 30, 30)
WHITE: Colour = (255, 255, 255)

REFERENCE_SIDE_PX = 640
"""Longer side of a picture on which lines are two pixels wide and letters 16 high."""
SYSTEM_FONTS = ("NotoSans-Regular.ttf", "DejaVuSans.ttf", "FreeSans.ttf")
SMALLEST_LETTERS_PX = 11
MOST_CHARACTERS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """One face to draw: `label` may be empty; `landmarks` are (5, 2) in pixels of the picture."""

    box: Box
    landmarks: F32
    label: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """One picture of a sheet with the lines below it; `outcome` colours its frame."""

    pixels: U8
    lines: Sequence[str]
    outcome: Outcome | None = None


def annotate(pixels: U8, marks: Sequence[Mark]) -> U8:
    """A copy of a BGR picture with every mark on it, lines and letters in its scale."""
    drawn = pixels.copy()
    scale = max(pixels.shape[:2]) / REFERENCE_SIDE_PX
    thickness = max(1, round(2 * scale))
    letters_px = max(SMALLEST_LETTERS_PX, round(16 * scale))
    for mark in marks:
        colour = COLOURS[mark.outcome]
        box = mark.box
        corners = _pixel(box.left, box.top), _pixel(box.right, box.bottom)
        cv2.rectangle(drawn, *corners, colour, thickness)
        for x, y in mark.landmarks:
            cv2.circle(drawn, _pixel(x, y), max(1, thickness), colour, cv2.FILLED)
    # Labels last, so that no box crosses one.
    for mark in marks:
        if mark.label:
            label = text_image(mark.label, letters_px, WHITE, COLOURS[mark.outcome])
            _put_label(drawn, label, mark.box)
    return drawn


def contact_sheet(
    tiles: Sequence[Tile], *, columns: int, tile_side_px: int = 240, title: str = ""
) -> U8:
    """A sheet of labelled pictures, `columns` a row, each fitted whole into a square."""
    letters_px = max(SMALLEST_LETTERS_PX, round(tile_side_px / 17))
    cells = [_cell(tile, tile_side_px, letters_px) for tile in tiles]
    width = columns * tile_side_px
    rows = [_heading(title, width, letters_px * 2)] if title else []
    for start in range(0, len(cells), columns):
        row = cells[start : start + columns]
        strip = _sheet(max(cell.shape[0] for cell in row), width)
        for column, cell in enumerate(row):
            _paste(strip, cell, column * tile_side_px, 0)
        rows.append(strip)
    return np.vstack(rows) if rows else _sheet(tile_side_px, width)


def text_image(text: str, letters_px: int, ink: Colour, paper: Colour) -> U8:
    """One line of text as a BGR picture, as wide as it has to be."""
    font, complete = _font(letters_px, SYSTEM_FONTS)
    line = "".join(c if c.isprintable() else " " for c in text)
    if not complete:
        line = "".join(c for c in normalize("NFKD", line) if not combining(c))
    if len(line) > MOST_CHARACTERS:
        line = line[: MOST_CHARACTERS - 1] + "…"
    left, _, right, _ = font.getbbox(line)
    edge = max(2, letters_px // 4)
    size = (max(1, round(right - left) + 2 * edge), round(letters_px * 1.25) + 2)
    image = Image.new("RGB", size, paper[::-1])
    # Anchored to the middle of the line, so that lines with and without descenders sit alike.
    ImageDraw.Draw(image).text((edge - left, size[1] / 2), line, ink[::-1], font, anchor="lm")
    return np.asarray(image)[:, :, ::-1]


@lru_cache(maxsize=16)
def _font(
    letters_px: int, names: tuple[str, ...]
) -> tuple[ImageFont.ImageFont | ImageFont.FreeTypeFont, bool]:
    """A font, and whether it has the letters of most alphabets."""
    for name in names:
        try:
            return ImageFont.truetype(name, letters_px), True
        except OSError:
            continue
    return ImageFont.load_default(size=letters_px), False


def _cell(tile: Tile, side_px: int, letters_px: int) -> U8:
    edge = max(2, side_px // 60)
    inner = side_px - 2 * edge
    height, width = tile.pixels.shape[:2]
    scale = inner / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    small = np.asarray(cv2.resize(tile.pixels, size, interpolation=how), dtype=np.uint8)
    texts = [text_image(line, letters_px, INK, PAPER) for line in tile.lines]
    cell = _sheet(side_px + sum(text.shape[0] for text in texts) + edge, side_px)
    left, top = (side_px - size[0]) // 2, (side_px - size[1]) // 2
    if tile.outcome is not None:
        cell[top - edge : top + size[1] + edge, left - edge : left + size[0] + edge] = COLOURS[
            tile.outcome
        ]
    _paste(cell, small, left, top)
    y = side_px
    for text in texts:
        _paste(cell, text, edge, y)
        y += text.shape[0]
    return cell


def _heading(title: str, width: int, letters_px: int) -> U8:
    text = text_image(title, letters_px, INK, PAPER)
    strip = _sheet(text.shape[0] + letters_px // 2, width)
    _paste(strip, text, letters_px // 4, letters_px // 4)
    return strip


def _sheet(height: int, width: int) -> U8:
    sheet = np.empty((height, width, 3), dtype=np.uint8)
    sheet[:] = PAPER
    return sheet


def _put_label(picture: U8, label: U8, box: Box) -> None:
    """Above the box, or inside its upper edge where the picture ends; never outside the picture."""
    height, width = picture.shape[:2]
    x = min(round(box.left), width - label.shape[1])
    y = round(box.top) - label.shape[0]
    y = y if y >= 0 else round(box.top)
    _paste(picture, label, max(x, 0), min(max(y, 0), max(height - label.shape[0], 0)))


def _paste(picture: U8, patch: U8, x: int, y: int) -> None:
    """Puts a patch at (x, y), both at least 0; what does not fit is cut off."""
    fitting = patch[: picture.shape[0] - y, : picture.shape[1] - x]
    picture[y : y + fitting.shape[0], x : x + fitting.shape[1]] = fitting


def _pixel(x: float, y: float) -> tuple[int, int]:
    # OpenCV takes 32-bit integers; a box may reach far outside.
    return round(min(max(float(x), -30000), 30000)), round(min(max(float(y), -30000), 30000))
