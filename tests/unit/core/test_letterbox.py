"""The letterbox is exact: every size, every aspect ratio, there and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.letterbox import fill, fit

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


def test_a_frame_of_the_inputs_size_is_copied_as_it_is() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (64, 96, 3), np.uint8)
    canvas = np.full((64, 96, 3), 7, np.uint8)
    box = fit(96, 64, 96, 64)
    fill(canvas, pixels, box)
    np.testing.assert_array_equal(canvas, pixels)
    np.testing.assert_array_equal(box.to_frame(np.array([3, 5], np.float32)), [3, 5])


@pytest.mark.parametrize(("width", "height"), [(4000, 60), (60, 4000), (1, 1), (17, 9), (640, 480)])
def test_padding_is_black_even_in_a_used_canvas(width: int, height: int) -> None:
    canvas = np.full((320, 320, 3), 99, np.uint8)
    box = fit(width, height, 320, 320)
    fill(canvas, np.full((height, width, 3), 200, np.uint8), box)
    assert (canvas[: box.fitted_height, : box.fitted_width] == 200).all()
    assert not canvas[box.fitted_height :].any()
    assert not canvas[:, box.fitted_width :].any()


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (250, 250), (333, 77)])
def test_a_mark_is_found_where_the_mapping_says(width: int, height: int) -> None:
    """A gradient's value at a mapped point is the frame's own: resize and mapping agree."""
    x_axis = np.linspace(0, 255, width, dtype=np.float32)
    pixels = np.repeat(np.tile(x_axis, (height, 1))[..., None], 3, axis=2).astype(np.uint8)
    canvas = np.zeros((320, 320, 3), np.uint8)
    box = fit(width, height, 320, 320)
    fill(canvas, pixels, box)
    for column in (20, 150, 300):
        x, y = box.to_frame(np.array([column, box.fitted_height // 2], np.float32))
        seen = float(canvas[box.fitted_height // 2, column, 0])
        assert abs(seen - x * 255 / (width - 1)) < 1.6
        assert 0 <= y < height


def test_an_empty_frame_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot fit 0x5"):
        fit(0, 5, 320, 320)
