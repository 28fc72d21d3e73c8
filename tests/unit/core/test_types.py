"""Values refuse what they cannot be."""

import numpy as np
import pytest

from edgefaced.types import Box, Frame, PixelFormat


def test_a_frame_knows_its_size() -> None:
    frame = Frame(1, 2, np.zeros((480, 640, 3), np.uint8), PixelFormat.BGR)
    assert (frame.width, frame.height) == (640, 480)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint8)


@pytest.mark.parametrize(
    ("pixel_format", "planes"),
    [
        (PixelFormat.BGR, [zeros(4, 6, 3)]),
        (PixelFormat.YUYV, [zeros(5, 6, 2)]),
        (PixelFormat.NV12, [zeros(4, 6), zeros(2, 3, 2)]),
        (PixelFormat.I420, [zeros(4, 6), zeros(2, 3), zeros(2, 3)]),
    ],
)
def test_every_format_has_its_planes(pixel_format: PixelFormat, planes: list[np.ndarray]) -> None:
    frame = Frame(0, 0, planes[0], pixel_format, tuple(planes[1:]))
    assert (frame.width, frame.height) == (6, planes[0].shape[0])
    with pytest.raises(ValueError, match="a frame of"):
        Frame(0, 0, planes[0], pixel_format, (*planes[1:], zeros(2, 3)))


@pytest.mark.parametrize(
    ("pixel_format", "planes"),
    [
        (PixelFormat.BGR, [zeros(4, 4)]),
        (PixelFormat.BGR, [zeros(4, 4, 4)]),
        (PixelFormat.BGR, [np.zeros((4, 4, 3), np.uint16)]),
        (PixelFormat.BGR, [zeros(0, 4, 3)]),
        (PixelFormat.BGR, [zeros(4)]),
        (PixelFormat.YUYV, [zeros(4, 5, 2)]),
        (PixelFormat.NV12, [zeros(5, 6), zeros(2, 3, 2)]),
        (PixelFormat.NV12, [zeros(4, 6), zeros(2, 3, 2).astype(np.int16)]),
    ],
)
def test_other_arrays_are_not_frames(pixel_format: PixelFormat, planes: list[np.ndarray]) -> None:
    with pytest.raises(ValueError, match="a frame of"):
        Frame(1, 2, planes[0], pixel_format, tuple(planes[1:]))


def test_a_box_has_a_centre_and_an_area() -> None:
    box = Box(10, 20, 30, 60)
    assert (box.centre, box.area) == ((20, 40), 800)
    assert Box(5, 5, 1, 1).area == 0
