"""A frame drawn in bands is the frame drawn at once, to a level, whatever its size and format."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefaced.core.bands import SCRATCH_BYTES, Easel, cut
from edgefaced.core.letterbox import Letterbox, fit, trimmed
from edgefaced.core.sampling import draw
from edgefaced.core.scaling import resize_into
from edgefaced.types import U8, ColourOrder, Frame, PixelFormat

FORMATS = list(PixelFormat)
SUBSAMPLED = [PixelFormat.NV12, PixelFormat.I420, PixelFormat.YUYV]

Noisy = Literal["luma", "chroma"]


def noise(shape: tuple[int, ...], seed: int) -> U8:
    return np.random.default_rng(seed).integers(16, 236, shape, np.uint8)


def frame_of(pixel_format: PixelFormat, width: int, height: int, noisy: Noisy) -> Frame:
    """Noise in one of luma and chroma, grey in the other; in all three channels of RGB."""
    if pixel_format not in SUBSAMPLED:
        return Frame(0, 0, noise((height, width, 3), 1), pixel_format)
    rows = height if pixel_format is PixelFormat.YUYV else height // 2
    luma, chroma = np.full((height, width), 128, np.uint8), np.full((rows, width), 128, np.uint8)
    if noisy == "luma":
        luma = noise(luma.shape, 2)
    else:
        chroma = noise(chroma.shape, 3)
    pairs = chroma.reshape(rows, width // 2, 2)
    match pixel_format:
        case PixelFormat.NV12:
            return Frame(0, 0, luma, pixel_format, (pairs,))
        case PixelFormat.I420:
            parts = (np.ascontiguousarray(pairs[..., 0]), np.ascontiguousarray(pairs[..., 1]))
            return Frame(0, 0, luma, pixel_format, parts)
    return Frame(0, 0, np.stack([luma, chroma], axis=-1), pixel_format)


def planes_of(frame: Frame) -> tuple[U8, U8, U8]:
    """Luma, U and V, each as the camera has it."""
    if frame.pixel_format is PixelFormat.YUYV:
        luma, chroma = np.ascontiguousarray(frame.pixels[..., 0]), frame.pixels[..., 1]
        return luma, np.ascontiguousarray(chroma[:, ::2]), np.ascontiguousarray(chroma[:, 1::2])
    if frame.pixel_format is PixelFormat.NV12:
        u, v = cv2.split(frame.chroma[0])
        return frame.pixels, np.asarray(u, np.uint8), np.asarray(v, np.uint8)
    return frame.pixels, frame.chroma[0], frame.chroma[1]


def drawn_at_once(frame: Frame, box: Letterbox) -> U8:
    """Plane by plane, without bands, scratch or tricks."""
    height, width = box.fitted_height, box.fitted_width
    canvas = np.zeros((box.input_height, box.input_width, 3), np.uint8)
    if frame.pixel_format not in SUBSAMPLED:
        resize_into(canvas[:height, :width], frame.pixels)
        return canvas if frame.pixel_format is PixelFormat.RGB else canvas[..., ::-1]
    tall, wide = height + height % 2, width + width % 2
    targets = [np.empty((tall, wide), np.uint8)]
    targets += [np.empty((tall // 2, wide // 2), np.uint8) for _ in "uv"]
    for target, plane in zip(targets, planes_of(frame), strict=True):
        resize_into(target, plane)
    chroma = np.stack(targets[1:], axis=-1)
    rgb = cv2.cvtColorTwoPlane(targets[0], chroma, cv2.COLOR_YUV2RGB_NV12)
    canvas[:height, :width] = rgb[:height, :width]
    return canvas


def difference(frame: Frame, box: Letterbox) -> int:
    """The largest, in levels of RGB, between the two."""
    canvas = np.full((box.input_height, box.input_width, 3), 77, np.uint8)
    draw(canvas, frame, box, ColourOrder.RGB)
    return int(np.abs(canvas.astype(int) - drawn_at_once(frame, box)).max())


LEVELS = {"luma": 2, "chroma": 3}
"""A level of luma is 1.16 of RGB, one of chroma 2.02 at most, and both are rounded."""


@pytest.mark.parametrize("noisy", ["luma", "chroma"])
@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("side", [160, 320, 640])
@pytest.mark.parametrize(
    "size", [(1280, 720), (1920, 1080), (640, 480), (1024, 768), (800, 600), (2560, 1440)]
)
def test_the_sizes_of_cameras(
    size: tuple[int, int], side: int, pixel_format: PixelFormat, noisy: Noisy
) -> None:
    frame = frame_of(pixel_format, *size, noisy)
    levels = LEVELS[noisy] if pixel_format in SUBSAMPLED else 1
    assert difference(frame, trimmed(fit(*size, side, side), 32)) <= levels


@given(
    st.integers(1, 300).map(lambda half: 2 * half),
    st.integers(1, 300).map(lambda half: 2 * half),
    st.sampled_from([32, 96, 160]),
    st.sampled_from(FORMATS),
    st.sampled_from(["luma", "chroma"]),
)
@settings(max_examples=150, deadline=None)
def test_any_size(
    width: int, height: int, side: int, pixel_format: PixelFormat, noisy: Noisy
) -> None:
    frame = frame_of(pixel_format, width, height, noisy)
    levels = LEVELS[noisy] + 1 if pixel_format in SUBSAMPLED else 1
    assert difference(frame, fit(width, height, side, side)) <= levels


@pytest.mark.parametrize("pixel_format", [PixelFormat.RGB, PixelFormat.BGR])
@pytest.mark.parametrize("size", [(641, 361), (333, 999), (1283, 719)])
def test_odd_sizes(size: tuple[int, int], pixel_format: PixelFormat) -> None:
    assert difference(frame_of(pixel_format, *size, "luma"), fit(*size, 160, 160)) <= 1


@pytest.mark.parametrize("pixel_format", FORMATS)
def test_bands_are_as_large_as_the_scratch_and_of_nearly_one_size(
    pixel_format: PixelFormat,
) -> None:
    bands = cut(pixel_format, (1440, 2560), (360, 640))
    assert SCRATCH_BYTES / 2 < bands.scratch_bytes <= SCRATCH_BYTES
    number = -(-360 // bands.rows)
    assert number > 1
    assert 360 - (number - 1) * bands.rows > bands.rows / 2


def test_what_fits_is_not_cut() -> None:
    assert cut(PixelFormat.NV12, (240, 320), (160, 214)).rows == 160


def test_one_easel_serves_frames_of_every_kind_in_turn() -> None:
    easel = Easel()
    sizes = [(1280, 720), (1282, 722), (352, 352), (640, 480), (640, 360), (96, 96)]
    for size in [*sizes, *sizes]:
        for pixel_format in FORMATS:
            frame, box = frame_of(pixel_format, *size, "luma"), fit(*size, 160, 160)
            canvas, alone = np.empty((2, 160, 160, 3), np.uint8)
            draw(canvas, frame, box, ColourOrder.RGB, easel)
            draw(alone, frame, box, ColourOrder.RGB)
            np.testing.assert_array_equal(canvas, alone)


def test_a_band_is_laid_out_once() -> None:
    easel = Easel()
    wanted = (PixelFormat.NV12, (80, 1280), (20, 320), ColourOrder.RGB)
    assert easel.painter(*wanted) is easel.painter(*wanted)
