"""The contact sheet: a row for every scene, a picture for some of its moments, what it came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgefaced.demo.drawing import ALARM, MISSED
from edgefaced.demo.results import SceneResult
from edgefaced.pictures.annotate import COLOURS, INK, PAPER, WHITE, Colour, text_image
from edgefaced.types import U8, Outcome

CELL_WIDTH_PX = 320
GAP_PX = 6
INFO_WIDTH_PX = 310
MARGIN_PX = 22
FAINT: Colour = (120, 120, 120)
PASSED: Colour = COLOURS[Outcome.KNOWN]

LEGEND: tuple[tuple[str, Colour, Colour], ...] = (
    ("recognised", WHITE, COLOURS[Outcome.KNOWN]),
    ("unknown", WHITE, COLOURS[Outcome.UNKNOWN]),
    ("too poor to judge", WHITE, COLOURS[Outcome.TOO_POOR]),
    ("missed", INK, MISSED),
    ("FALSE ACCEPT", WHITE, ALARM),
)


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A scene's result and its pictures (h, CELL_WIDTH_PX, 3), already drawn upon."""

    result: SceneResult
    pictures: Sequence[U8]


def contact_sheet(rows: Sequence[Row], title: str, lines: Sequence[str]) -> U8:
    """All scenes below a heading, the legend at the foot."""
    columns = max(len(row.pictures) for row in rows)
    width = 2 * MARGIN_PX + INFO_WIDTH_PX + columns * (CELL_WIDTH_PX + GAP_PX)
    bands = [_gap(MARGIN_PX, width), _text_band(title, 30, INK, width)]
    bands += [_text_band(line, 17, FAINT, width) for line in lines]
    bands.append(_gap(MARGIN_PX // 2, width))
    for row in rows:
        bands += [_row(row, width), _gap(GAP_PX, width)]
    bands += [_gap(MARGIN_PX // 2, width), _legend(width), _gap(MARGIN_PX // 2, width)]
    return np.vstack(bands)


def _row(row: Row, width: int) -> U8:
    height = row.pictures[0].shape[0]
    band = _gap(height, width)
    result = row.result
    colour = PASSED if result.passed else ALARM
    band[:, MARGIN_PX : MARGIN_PX + 5] = colour
    left, top = MARGIN_PX + 16, 8
    lines = [(result.scene.name, 24, INK), (result.scene.story, 15, FAINT)]
    lines += [(line, 17, ink) for line, ink in _counts(result)]
    for text, letters_px, ink in lines:
        image = text_image(text, letters_px, ink, PAPER)
        _paste(band, image, left, top)
        top += image.shape[0] + 2
    left = MARGIN_PX + INFO_WIDTH_PX
    for picture in row.pictures:
        _paste(band, picture, left, 0)
        left += CELL_WIDTH_PX + GAP_PX
    return band


def _counts(result: SceneResult) -> list[tuple[str, Colour]]:
    tally = result.tally
    figures = (
        ("recognised", tally.recognised, PASSED),
        ("not recognised", tally.not_recognised, COLOURS[Outcome.UNKNOWN]),
        ("strangers rejected", tally.rejected, INK),
        ("too poor", tally.too_poor, FAINT),
        ("missed", tally.missed, FAINT),
        ("FALSE ACCEPTS", tally.false_accepts, ALARM),
    )
    lines = [(f"{count} {what}", ink) for what, count, ink in figures if count]
    lines += [(f"never recognised: {name}", ALARM) for name in result.never_recognised]
    return lines or [("nobody there, nobody found", INK)]


def _legend(width: int) -> U8:
    signs = [text_image(text, 16, ink, paper) for text, ink, paper in LEGEND]
    band = _gap(max(sign.shape[0] for sign in signs), width)
    left = MARGIN_PX + INFO_WIDTH_PX
    for sign in signs:
        _paste(band, sign, left, 0)
        left += sign.shape[1] + 14
    return band


def _text_band(text: str, letters_px: int, ink: Colour, width: int) -> U8:
    image = text_image(text, letters_px, ink, PAPER)
    band = _gap(image.shape[0] + 4, width)
    _paste(band, image, MARGIN_PX, 2)
    return band


def _gap(height: int, width: int) -> U8:
    return np.full((height, width, 3), PAPER, dtype=np.uint8)


def _paste(band: U8, image: U8, left: int, top: int) -> None:
    fitting = image[: band.shape[0] - top, : band.shape[1] - left]
    band[top : top + fitting.shape[0], left : left + fitting.shape[1]] = fitting
