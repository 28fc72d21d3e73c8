"""The letterbox is exact: every size, every aspect ratio, there and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.letterbox import fit, trimmed

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
