"""Planes are views of a camera's memory, at their place, in every format."""

from __future__ import annotations

import mmap

import cv2
import numpy as np
import pytest

from edgefaced.camera.clock import CREDIBLE_NS, happened_ns
from edgefaced.camera.convert import fitted, planes_of
from edgefaced.camera.layout import Layout
from edgefaced.core.letterbox import fit
from edgefaced.core.sampling import draw
from edgefaced.types import U8, ColourOrder, Frame, PixelFormat

WIDTH, HEIGHT, PADDING, OFFSET = 24, 16, 8, 40


def numbered(size: int) -> mmap.mmap:
    memory = mmap.mmap(-1, size)
    memory[:] = (np.arange(size) % 251).astype(np.uint8).tobytes()
    return memory


@pytest.mark.parametrize("offset", [0, OFFSET])
@pytest.mark.parametrize(
    ("pixel_format", "places"),
    [
        (PixelFormat.RGB, [(0, HEIGHT, 3 * WIDTH, 1)]),
        (PixelFormat.BGR, [(0, HEIGHT, 3 * WIDTH, 1)]),
        (PixelFormat.YUYV, [(0, HEIGHT, 2 * WIDTH, 1)]),
        (PixelFormat.NV12, [(0, HEIGHT, WIDTH, 1), (HEIGHT, HEIGHT // 2, WIDTH, 1)]),
        (
            PixelFormat.I420,
            [
                (0, HEIGHT, WIDTH, 1),
                (HEIGHT, HEIGHT // 2, WIDTH // 2, 2),
                (HEIGHT + HEIGHT // 4, HEIGHT // 2, WIDTH // 2, 2),
            ],
        ),
    ],
)
def test_rows_lie_where_the_kernel_says(
    pixel_format: PixelFormat, places: list[tuple[int, int, int, int]], offset: int
) -> None:
    """`places`: first row in strides, rows, bytes of a row, rows that share a stride."""
    stride = places[0][2] + PADDING
    layout = Layout(pixel_format, WIDTH, HEIGHT, stride)
    with numbered(offset + layout.bytes_needed) as memory:
        planes = layout.views([memory], offset)
        for plane, (first, rows, length, share) in zip(
            (planes.pixels, *planes.chroma), places, strict=True
        ):
            for row in range(rows):
                begin = offset + first * stride + row * stride // share
                assert plane[row].tobytes() == memory[begin : begin + length]
        Frame(0, 0, planes.pixels, pixel_format, planes.chroma)
        del planes, plane


def test_nv12_may_lie_in_two_pieces() -> None:
    layout = Layout(PixelFormat.NV12, WIDTH, HEIGHT, WIDTH)
    with numbered(WIDTH * HEIGHT) as luma, numbered(WIDTH * HEIGHT // 2) as chroma:
        planes = layout.views([luma, chroma])
        assert planes.pixels.tobytes() == luma[:]
        assert planes.chroma[0].tobytes() == chroma[:]
        del planes


def test_memory_that_is_too_small_is_an_error_and_not_a_crash() -> None:
    layout = Layout(PixelFormat.NV12, WIDTH, HEIGHT, WIDTH)
    with (
        numbered(layout.bytes_needed - 1) as memory,
        pytest.raises(ValueError, match="too few"),
    ):
        layout.views([memory])
    with numbered(OFFSET) as memory, pytest.raises(ValueError, match="too few"):
        layout.views([memory], OFFSET + 1)


def test_a_mapping_is_not_closed_under_a_frame() -> None:
    memory = numbered(WIDTH * HEIGHT * 2)
    planes = Layout(PixelFormat.YUYV, WIDTH, HEIGHT, 2 * WIDTH).views([memory])
    with pytest.raises(BufferError):
        memory.close()
    del planes
    memory.close()


@pytest.mark.parametrize("pixel_format", list(PixelFormat))
def test_a_converted_picture_looks_the_same(pixel_format: PixelFormat) -> None:
    small = np.random.default_rng(2).integers(40, 216, (6, 8, 3), np.uint8)
    bgr: U8 = np.asarray(cv2.resize(small, (64, 48), interpolation=cv2.INTER_CUBIC), np.uint8)
    planes = planes_of(bgr, pixel_format)
    frame = Frame(0, 0, planes.pixels, pixel_format, planes.chroma)
    canvas = np.empty((48, 64, 3), np.uint8)
    draw(canvas, frame, fit(64, 48, 64, 48), ColourOrder.BGR)
    assert np.abs(canvas.astype(int) - bgr).mean() < 6
    assert not planes.pixels.flags.writeable
    assert bgr.flags.writeable, "whose picture it was may still change it"


@pytest.mark.parametrize(
    ("shape", "inside"),
    [((48, 64), (0, 48, 0, 64)), ((96, 64), (0, 48, 16, 48)), ((24, 64), (12, 36, 0, 64))],
)
def test_a_picture_is_fitted_into_the_middle(
    shape: tuple[int, int], inside: tuple[int, int, int, int]
) -> None:
    seen = fitted(np.full((*shape, 3), 200, np.uint8), 64, 48)
    top, bottom, left, right = inside
    assert seen.shape == (48, 64, 3)
    assert (seen[top:bottom, left:right] == 200).all()
    assert int(seen.sum()) == 200 * 3 * (bottom - top) * (right - left)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        (None, 10**12),
        (10**12 - 5, 10**12 - 5),
        (10**12, 10**12),
        (10**12 + 1, 10**12),
        (10**12 - CREDIBLE_NS, 10**12 - CREDIBLE_NS),
        (10**12 - CREDIBLE_NS - 1, 10**12),
        (0, 10**12),
    ],
)
def test_a_stamp_is_believed_where_it_can_be_true(stamp: int | None, expected: int) -> None:
    assert happened_ns(stamp, 10**12) == expected
