"""Small pictures from every format of a camera."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from edgefaced.core.picture import bgr_of
from edgefaced.core.portrait import around, bytes_reduced, reduced
from edgefaced.types import U8, Box, Frame, PixelFormat

WIDTH, HEIGHT = 320, 180
FACE = Box(100.0, 60.0, 160.0, 130.0)


def scene() -> U8:
    """Smooth, so that halved chroma loses little."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = (columns * 200 / WIDTH + 20, rows * 200 / HEIGHT + 20, (rows + columns) / 3 + 20)
    return np.stack(planes, axis=-1).astype(np.uint8)


def frame_of(kind: PixelFormat) -> Frame:
    bgr = scene()
    if kind is PixelFormat.BGR:
        return Frame(1, 0, bgr, kind)
    if kind is PixelFormat.RGB:
        return Frame(1, 0, bgr[..., ::-1].copy(), kind)
    planes = np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420), np.uint8)
    luma, rest = planes[:HEIGHT], planes[HEIGHT:].reshape(2, HEIGHT // 2, WIDTH // 2)
    if kind is PixelFormat.I420:
        return Frame(1, 0, luma, kind, (rest[0], rest[1]))
    chroma = np.stack(list(rest), axis=-1)
    if kind is PixelFormat.NV12:
        return Frame(1, 0, luma, kind, (chroma,))
    packed = np.empty((HEIGHT, WIDTH, 2), np.uint8)
    packed[..., 0] = luma
    packed[:, 0::2, 1] = chroma[..., 0].repeat(2, axis=0)
    packed[:, 1::2, 1] = chroma[..., 1].repeat(2, axis=0)
    return Frame(1, 0, packed, kind)


@pytest.mark.parametrize("kind", PixelFormat)
def test_a_face_and_a_little_around_it_in_its_colours(kind: PixelFormat) -> None:
    frame = frame_of(kind)
    part = around(frame, FACE)
    assert np.shares_memory(part.pixels, frame.pixels), "no copy before it is reduced"
    # 0.3 of 60x70 on each side, out to pairs of pixels.
    assert (part.width, part.height) == (178 - 82, 152 - 38)
    picture = reduced(part, 256)
    assert picture.shape == (114, 96, 3), "nothing is enlarged"
    wanted = bgr_of(frame)[38:152, 82:178].astype(int)
    assert np.abs(picture.astype(int) - wanted).max() <= 6


@pytest.mark.parametrize("kind", PixelFormat)
def test_a_frame_gets_small_in_its_colours(kind: PixelFormat) -> None:
    frame = frame_of(kind)
    picture = reduced(frame, 160)
    assert picture.shape == (90, 160, 3)
    wanted = cv2.resize(scene(), (160, 90), interpolation=cv2.INTER_AREA).astype(int)
    assert np.abs(picture.astype(int) - wanted).mean() <= 4
    assert bytes_reduced(frame, 160) >= picture.nbytes


@pytest.mark.parametrize(
    "face",
    [
        Box(-50.0, -40.0, 30.0, 20.0),
        Box(300.0, 170.0, 400.0, 300.0),
        Box(-500.0, -500.0, -400.0, -400.0),
        Box(900.0, 900.0, 901.0, 901.0),
        Box(-1000.0, -1000.0, 1000.0, 1000.0),
        Box(float("nan"), float("nan"), float("nan"), float("nan")),
        Box(-math.inf, -math.inf, math.inf, math.inf),
    ],
)
def test_what_lies_beyond_the_edge_is_cut_off(face: Box) -> None:
    part = around(frame_of(PixelFormat.NV12), face)
    assert 2 <= part.width <= WIDTH
    assert 2 <= part.height <= HEIGHT
    assert (part.width % 2, part.height % 2) == (0, 0)
    assert max(reduced(part, 64).shape) <= 64
