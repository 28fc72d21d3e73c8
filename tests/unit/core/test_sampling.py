"""Every camera format gives the same input and the same face as the picture it was made from."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from edgefaced.core.align import TEMPLATE
from edgefaced.core.letterbox import fit, trimmed
from edgefaced.core.sampling import bytes_drawn, cut_face, draw
from edgefaced.types import U8, ColourOrder, Frame, PixelFormat

FORMATS = list(PixelFormat)
YUV = [PixelFormat.NV12, PixelFormat.I420, PixelFormat.YUYV]


def smooth(width: int, height: int, seed: int = 1) -> U8:
    """A BGR picture without detail finer than chroma subsampling can carry."""
    small = np.random.default_rng(seed).integers(30, 226, (9, 12, 3), np.uint8)
    picture = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(picture, np.uint8)


def frame_of(bgr: U8, pixel_format: PixelFormat, *, padding: int = 0) -> Frame:
    """The picture as a camera would give it; rows padded by `padding` bytes."""
    height, width = bgr.shape[:2]

    def padded(plane: U8) -> U8:
        rows = np.full((plane.shape[0], plane[0].size + padding), 99, np.uint8)
        rows[:, : plane[0].size] = plane.reshape(plane.shape[0], -1)
        view = rows[:, : plane[0].size]
        shape = plane.shape
        return np.lib.stride_tricks.as_strided(
            view, shape, (rows.strides[0], *plane.strides[1:]), writeable=False
        )

    if pixel_format is PixelFormat.BGR:
        return Frame(0, 0, padded(bgr), pixel_format)
    if pixel_format is PixelFormat.RGB:
        return Frame(0, 0, padded(np.ascontiguousarray(bgr[..., ::-1])), pixel_format)
    planar = np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420), np.uint8).reshape(-1)
    luma = planar[: width * height].reshape(height, width)
    u, v = planar[width * height :].reshape(2, height // 2, width // 2)
    if pixel_format is PixelFormat.I420:
        return Frame(0, 0, padded(luma), pixel_format, (padded(u), padded(v)))
    if pixel_format is PixelFormat.NV12:
        return Frame(0, 0, padded(luma), pixel_format, (padded(np.stack([u, v], axis=-1)),))
    packed = np.empty((height, width, 2), np.uint8)
    packed[..., 0] = luma
    packed[:, 0::2, 1] = np.repeat(u, 2, axis=0)
    packed[:, 1::2, 1] = np.repeat(v, 2, axis=0)
    return Frame(0, 0, padded(packed), pixel_format)


def drawn(frame: Frame, width: int, height: int, order: ColourOrder) -> U8:
    canvas = np.full((height, width, 3), 77, np.uint8)
    draw(canvas, frame, fit(frame.width, frame.height, width, height), order)
    return canvas


@pytest.mark.parametrize("order", list(ColourOrder))
@pytest.mark.parametrize("padding", [0, 24])
@pytest.mark.parametrize("pixel_format", FORMATS)
def test_every_format_draws_the_same_input(
    pixel_format: PixelFormat, padding: int, order: ColourOrder
) -> None:
    bgr = smooth(640, 360)
    expected = drawn(frame_of(bgr, PixelFormat.BGR), 320, 320, ColourOrder.BGR)
    if order is ColourOrder.RGB:
        expected = expected[..., ::-1]
    seen = drawn(frame_of(bgr, pixel_format, padding=padding), 320, 320, order)
    difference = np.abs(seen.astype(int) - expected)
    # Going to YUV and back costs 1.1 on average here, 5 at the 99th percentile.
    assert difference[:180].mean() < 2
    assert np.percentile(difference, 99) <= 8
    assert not seen[180:].any()


@pytest.mark.parametrize("order", list(ColourOrder))
@pytest.mark.parametrize("pixel_format", FORMATS)
def test_every_format_gives_the_same_face(pixel_format: PixelFormat, order: ColourOrder) -> None:
    bgr = smooth(640, 480, seed=3)
    angle = np.radians(20)
    turn = 1.7 * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    landmarks = (TEMPLATE @ turn.T + [250, 120]).astype(np.float32)
    expected = cut_face(frame_of(bgr, PixelFormat.BGR), landmarks, ColourOrder.BGR)
    if order is ColourOrder.RGB:
        expected = expected[..., ::-1]
    seen = cut_face(frame_of(bgr, pixel_format, padding=16), landmarks, order)
    difference = np.abs(seen.astype(int) - expected)
    assert difference.mean() < 1.5
    assert np.percentile(difference, 99) <= 6


@pytest.mark.parametrize("pixel_format", FORMATS)
def test_outside_the_frame_is_black(pixel_format: PixelFormat) -> None:
    landmarks = (TEMPLATE - 56).astype(np.float32)
    face = cut_face(frame_of(smooth(64, 64), pixel_format), landmarks, ColourOrder.BGR)
    assert face[:50].max() <= 2
    assert face[60:, 60:].mean() > 20


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize(
    ("width", "height"), [(4000, 60), (60, 4000), (2, 2), (18, 10), (320, 320), (318, 178)]
)
def test_padding_is_black_at_every_size(width: int, height: int, pixel_format: PixelFormat) -> None:
    grey = np.full((height, width, 3), 200, np.uint8)
    canvas = drawn(frame_of(grey, pixel_format), 320, 320, ColourOrder.RGB)
    box = fit(width, height, 320, 320)
    inside = canvas[: box.fitted_height, : box.fitted_width].astype(int)
    assert np.abs(inside - 200).max() <= 2
    assert not canvas[box.fitted_height :].any()
    assert not canvas[:, box.fitted_width :].any()


def test_a_frame_of_the_inputs_size_is_copied_as_it_is() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (64, 96, 3), np.uint8)
    canvas = drawn(Frame(0, 0, pixels, PixelFormat.BGR), 96, 64, ColourOrder.BGR)
    np.testing.assert_array_equal(canvas, pixels)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (250, 250), (333, 77)])
def test_a_mark_is_found_where_the_mapping_says(width: int, height: int) -> None:
    """A gradient's value at a mapped point is the frame's own: resize and mapping agree."""
    x_axis = np.linspace(0, 255, width, dtype=np.float32)
    pixels = np.repeat(np.tile(x_axis, (height, 1))[..., None], 3, axis=2).astype(np.uint8)
    box = fit(width, height, 320, 320)
    canvas = drawn(Frame(0, 0, pixels, PixelFormat.BGR), 320, 320, ColourOrder.BGR)
    for column in (20, 150, 300):
        x, y = box.to_frame(np.array([column, box.fitted_height // 2], np.float32))
        seen = float(canvas[box.fitted_height // 2, column, 0])
        assert abs(seen - x * 255 / (width - 1)) < 1.6
        assert 0 <= y < height


def test_marks_at_the_landmarks_land_on_the_template() -> None:
    pixels = np.zeros((400, 500, 3), np.uint8)
    landmarks = (TEMPLATE * 2.2 + [110, 70]).astype(np.float32)
    for x, y in landmarks:
        cv2.circle(pixels, (round(float(x)), round(float(y))), 4, (0, 128, 255), -1)
    face = cut_face(Frame(0, 0, pixels, PixelFormat.BGR), landmarks, ColourOrder.BGR)
    for x, y in TEMPLATE:
        assert face[round(float(y)), round(float(x))].tolist() == [0, 128, 255]


def test_a_face_that_is_already_upright_stays_as_it_is() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (112, 112, 3), np.uint8)
    frame = Frame(0, 0, pixels, PixelFormat.RGB)
    np.testing.assert_array_equal(cut_face(frame, TEMPLATE, ColourOrder.RGB), pixels)
    np.testing.assert_array_equal(cut_face(frame, TEMPLATE, ColourOrder.BGR), pixels[..., ::-1])


@pytest.mark.parametrize("pixel_format", YUV)
def test_camera_memory_is_only_read(pixel_format: PixelFormat) -> None:
    frame = frame_of(smooth(640, 360), pixel_format, padding=8)
    planes = (frame.pixels, *frame.chroma)
    before = [plane.copy() for plane in planes]
    assert not any(plane.flags.writeable for plane in planes)
    drawn(frame, 320, 192, ColourOrder.RGB)
    cut_face(frame, (TEMPLATE + 40).astype(np.float32), ColourOrder.RGB)
    for plane, was in zip(planes, before, strict=True):
        np.testing.assert_array_equal(plane, was)


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("side", [160, 320, 640])
def test_nothing_is_written_but_the_input(pixel_format: PixelFormat, side: int) -> None:
    box = trimmed(fit(1280, 720, side, side), 32)
    assert bytes_drawn(pixel_format, box) == 3 * box.input_width * box.input_height


def test_a_size_that_cannot_be_cut_is_written_in_between_and_counted() -> None:
    box = fit(1282, 722, 320, 320)
    assert bytes_drawn(PixelFormat.BGR, box) == 3 * (320 * 320 + 641 * 361 + 321 * 181 + 320 * 180)


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (4056, 3040)])
def test_a_large_reduction_writes_a_part_of_the_frame_at_most(
    pixel_format: PixelFormat, size: tuple[int, int]
) -> None:
    bytes_per_pixel = {PixelFormat.NV12: 1.5, PixelFormat.I420: 1.5, PixelFormat.YUYV: 2}
    frame = size[0] * size[1] * bytes_per_pixel.get(pixel_format, 3)
    assert bytes_drawn(pixel_format, fit(*size, 320, 320)) < 0.85 * frame
