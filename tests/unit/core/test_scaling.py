"""Scaling loses no pixel and moves none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.letterbox import fit
from edgefaced.core.scaling import Scratch, exact_halvings, resize_into, rows_apart, stages
from edgefaced.types import U8


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
    assert stages((720, 1280), (360, 640)) == ((360, 640),)
    assert stages((720, 1280), (180, 320)) == ((360, 640), (180, 320))
    assert stages((1080, 1920), (180, 320)) == ((540, 960), (270, 480), (180, 320))
    assert stages((100, 4000), (10, 320)) == ((50, 2000), (25, 1000), (13, 500), (10, 320))
    assert stages((30, 20), (300, 200)) == ((300, 200),)


def test_halvings_count_while_they_are_exact() -> None:
    assert exact_halvings((720, 1280), (180, 320)) == 2
    assert exact_halvings((1080, 1920), (180, 320)) == 2, "the third step is one and a half"
    assert exact_halvings((45, 1280), (45, 320)) == 0, "width alone is halved"
    assert exact_halvings((181, 640), (90, 320)) == 0
    assert exact_halvings((90, 160), (90, 160)) == 0


def test_a_target_is_cut_where_rows_begin_together() -> None:
    assert rows_apart((720, 1280), (180, 320)) == 1
    assert rows_apart((1080, 1920), (180, 320)) == 2
    assert rows_apart((480, 640), (200, 267)) == 5, "12 rows for 5"
    assert rows_apart((721, 1280), (180, 320)) == 180, "not at all"
    assert rows_apart((90, 160), (180, 320)) == 180, "an enlarged row needs those beside it"


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize(("height", "width"), [(36, 64), (18, 32)])
def test_a_reduction_is_the_mean_of_what_it_covers(channels: int, height: int, width: int) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (72, 128, channels), dtype=np.uint8)
    target = np.empty((height, width, channels), np.uint8)
    resize_into(target, pixels)
    step = 72 // height
    means = pixels.reshape(height, step, width, step, channels).mean(axis=(1, 3))
    assert np.abs(target - means).max() <= np.log2(step), "a level at most for each halving"


def test_scratch_is_dealt_out_once_and_counted() -> None:
    scratch = Scratch(np.zeros(100, np.uint8))
    (first,) = scratch.pictures([(4, 5)])
    (other,) = scratch.passing([(6, 7)])
    second, third = scratch.pictures([(2, 5), (1, 5)], 3)
    assert (second.shape, third.shape) == ((2, 5, 3), (1, 5, 3))
    first[:], second[:], third[:] = 1, 2, 3
    assert (first == 1).all()
    assert (other == np.repeat([2, 3], [30, 12]).reshape(6, 7)).all(), "in the same place"
    assert scratch.most == 65
    with pytest.raises(ValueError, match="cannot reshape"):
        scratch.pictures([(6, 6)])


def test_without_memory_it_only_counts() -> None:
    scratch = Scratch()
    scratch.passing([(3000, 4000)])
    scratch.pictures([(1000, 1000)], 3)
    assert scratch.most == 12_000_000
