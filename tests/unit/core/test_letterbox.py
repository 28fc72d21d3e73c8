"""The letterbox is exact: every size, every aspect ratio, there and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.letterbox import fit, halvings, resize_into, trimmed
from edgefaced.types import U8

sides = st.integers(1, 5000)


@given(sides, sides, st.sampled_from([(320, 320), (640, 384), (32, 64)]))
def test_points_go_there_and_back(width: int, height: int, target: tuple[int, int]) -> None:
    box = fit(width, height, *target)
    corners = np.array([[0, 0], [width - 1, height - 1], [width / 3, height / 7]], np.float32)
    again = box.to_frame(box.to_input(corners))
    np.testing.assert_allclose(again, corners, atol=max(width, height) * 2e-4)


@given(sides, sides)
def test_the_frame_fits_and_touches_one_side(width: int, height: int) -> None:
    box = fit(width, height, 320, 192)
    assert 1 <= box.fitted_width <= 320
    assert 1 <= box.fitted_height <= 192
    assert box.fitted_width == 320 or box.fitted_height == 192


def test_an_empty_frame_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot fit 0x5"):
        fit(0, 5, 320, 320)


def resized(pixels: U8, width: int, height: int) -> U8:
    target = np.full((height, width, pixels.shape[2]), 7, np.uint8)
    resize_into(target, pixels)
    return target


@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 40), st.integers(1, 40))
def test_a_flat_picture_stays_flat_at_any_size(w: int, h: int, to_w: int, to_h: int) -> None:
    flat = np.full((h, w, 3), (10, 130, 250), np.uint8)
    assert (resized(flat, to_w, to_h) == (10, 130, 250)).all()


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_every_pixel_counts_when_a_picture_is_reduced(factor: int) -> None:
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (24 * factor, 32 * factor, 3), dtype=np.uint8)
    means = pixels.reshape(24, factor, 32, factor, 3).mean(axis=(1, 3))
    off = np.abs(resized(pixels, 32, 24) - means).max()
    assert off <= np.log2(factor), "each halving rounds by a level at most (on arm64, twice)"


@pytest.mark.parametrize("size", [(640, 480), (1000, 700), (4000, 3000)])
def test_fine_stripes_become_grey(size: tuple[int, int]) -> None:
    stripes = np.zeros((size[1], size[0], 3), np.uint8)
    stripes[:, ::2] = 255
    assert np.abs(resized(stripes, 160, 120).astype(np.float64) - 127.5).max() <= 1


@pytest.mark.parametrize("width", [321, 641, 1000, 1283, 2001, 4000])
def test_everything_stays_where_it_was(width: int) -> None:
    ramp = np.linspace(0, 255, width)
    pixels = np.repeat(np.round(ramp).astype(np.uint8)[np.newaxis, :, np.newaxis], 3, axis=2)
    box = fit(width, 1, 160, 160)
    columns = np.stack([np.arange(160), np.zeros(160)], axis=1).astype(np.float32)
    expected = box.to_frame(columns)[:, 0] * 255 / (width - 1)
    assert np.abs(resized(pixels, 160, 1)[0, :, 0] - expected)[1:-1].max() < 1.6


def test_a_picture_of_the_target_s_size_is_copied() -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (9, 13, 3), dtype=np.uint8)
    assert (resized(pixels, 13, 9) == pixels).all()


def test_a_picture_is_halved_until_at_most_half_remains_to_go() -> None:
    assert halvings((720, 1280), (360, 640)) == []
    assert halvings((720, 1280), (180, 320)) == [(360, 640)]
    assert halvings((1080, 1920), (180, 320)) == [(540, 960), (270, 480)]
    assert halvings((100, 4000), (10, 320)) == [(50, 2000), (25, 1000), (13, 500)]
    assert halvings((30, 20), (300, 200)) == []


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize(("height", "width"), [(36, 64), (18, 32)])
def test_a_reduction_is_the_mean_of_what_it_covers(channels: int, height: int, width: int) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (72, 128, channels), dtype=np.uint8)
    target = np.empty((height, width, channels), np.uint8)
    resize_into(target, pixels)
    step = 72 // height
    means = pixels.reshape(height, step, width, step, channels).mean(axis=(1, 3))
    assert np.abs(target - means).max() <= np.log2(step), "a level at most for each halving"


@given(sides, sides, st.sampled_from([8, 32]))
def test_trimming_takes_padding_only(width: int, height: int, step: int) -> None:
    box = fit(width, height, 320, 320)
    small = trimmed(box, step)
    assert small.input_width % step == small.input_height % step == 0
    assert 0 <= small.input_width - box.fitted_width < step
    assert 0 <= small.input_height - box.fitted_height < step
    assert max(small.input_width, small.input_height) == 320
    points = np.array([[3, 5], [90, 7]], np.float32)
    assert (small.to_frame(points) == box.to_frame(points)).all()
