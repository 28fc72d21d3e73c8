"""Values refuse what they cannot be."""

import numpy as np
import pytest

from edgefaced.types import Box, Frame, PixelFormat


def test_a_frame_knows_its_size() -> None:
    frame = Frame(1, 2, np.zeros((480, 640, 3), np.uint8), PixelFormat.BGR)
    assert (frame.width, frame.height) == (640, 480)


@pytest.mark.parametrize(
    "pixels",
    [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3), np.uint16)],
)
def test_other_arrays_are_not_frames(pixels: np.ndarray) -> None:
    with pytest.raises(ValueError, match="a frame is"):
        Frame(1, 2, pixels, PixelFormat.BGR)


def test_a_box_has_a_centre_and_an_area() -> None:
    box = Box(10, 20, 30, 60)
    assert (box.centre, box.area) == ((20, 40), 800)
    assert Box(5, 5, 1, 1).area == 0
