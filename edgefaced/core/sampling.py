"""From a camera's own pixels to a network's input or an upright face, with no full frame between.

The big picture is read once, where the camera left it, by the resize or the warp of each plane;
colour is converted afterwards, on the few pixels that are left.
"""

from __future__ import annotations

import cv2
import numpy as np

from edgefaced.core.align import TEMPLATE, similarity
from edgefaced.core.bands import PACKED, SCRATCH_BYTES, Easel, cut
from edgefaced.core.letterbox import Letterbox
from edgefaced.core.scaling import Size
from edgefaced.types import F32, F64, FACE_SIDE_PX, U8, ColourOrder, Frame, PixelFormat

BLACK_LUMA, NO_COLOUR = 16, 128
"""Black in limited-range YUV."""

FROM_NV12 = {ColourOrder.RGB: cv2.COLOR_YUV2RGB_NV12, ColourOrder.BGR: cv2.COLOR_YUV2BGR_NV12}


def draw(
    canvas: U8, frame: Frame, box: Letterbox, order: ColourOrder, easel: Easel | None = None
) -> None:
    """Fits a frame into `canvas` (input_height, input_width, 3), padded with black, in `order`.

    The canvas, the network's input, has even sides for a YUV frame. It may be used again and
    again, and so may the easel; absent, a new one is made.
    """
    easel = easel or Easel()
    height, width = target = _target(frame.pixel_format, box)
    bands = cut(frame.pixel_format, (frame.height, frame.width), target)
    for top in range(0, height, bands.rows):
        bottom = min(top + bands.rows, height)
        rows = [
            plane[top * len(plane) // height : bottom * len(plane) // height]
            for plane in (frame.pixels, *frame.chroma)
        ]
        size = (len(rows[0]), frame.width)
        paint = easel.painter(frame.pixel_format, size, (bottom - top, width), order)
        paint(rows, canvas[top:bottom, :width])
    canvas[box.fitted_height :] = 0
    canvas[: box.fitted_height, box.fitted_width :] = 0


def bytes_drawn(pixel_format: PixelFormat, box: Letterbox) -> int:
    """Bytes that `draw` writes for one frame: the input, padding included.

    What lies between counts only where a band of it is larger than SCRATCH_BYTES: else it is
    written over by the next band, and stays in the processor's cache.
    """
    target = _target(pixel_format, box)
    bands = cut(pixel_format, (box.height, box.width), target)
    between = bands.scratch_bytes * target[0] // bands.rows
    written = 3 * box.input_width * box.input_height
    return written + (between if bands.scratch_bytes > SCRATCH_BYTES else 0)


def _target(pixel_format: PixelFormat, box: Letterbox) -> Size:
    """What a frame is scaled to; with chroma of half the rows and columns, both are made even."""
    height, width = box.fitted_height, box.fitted_width
    return (height, width) if pixel_format in PACKED else (height + height % 2, width + width % 2)


def cut_face(frame: Frame, landmarks: F32, order: ColourOrder) -> U8:
    """Cuts the upright (112, 112, 3) face out of a frame, in `order`; outside is black.

    One warp a plane. Raises ValueError for landmarks without extent.
    """
    matrix = similarity(landmarks, TEMPLATE)
    packed = PACKED.get(frame.pixel_format)
    if packed is not None:
        face = _warp(frame.pixels, matrix, FACE_SIDE_PX, 0)
        return (
            face if packed is order else np.asarray(cv2.cvtColor(face, cv2.COLOR_BGR2RGB), np.uint8)
        )
    luma, chroma = _warped(frame, matrix)
    return np.asarray(cv2.cvtColorTwoPlane(luma, chroma, FROM_NV12[order]), np.uint8)


def _pairs(frame: Frame) -> U8:
    """YUYV as (height, width/2, 4): two lumas and their common U and V; a view."""
    return frame.pixels.reshape(frame.height, frame.width // 2, 4)


def _warped(frame: Frame, matrix: F64) -> tuple[U8, U8]:
    """Luma (112, 112) and chroma (56, 56, 2) of the face that `matrix` cuts from a YUV frame."""
    side, half = FACE_SIDE_PX, FACE_SIDE_PX // 2
    if frame.pixel_format is PixelFormat.YUYV:
        luma = _warp(frame.pixels, matrix, side, (BLACK_LUMA, NO_COLOUR))[..., 0]
        grey = (BLACK_LUMA, NO_COLOUR, BLACK_LUMA, NO_COLOUR)
        chroma = _warp(_pairs(frame), _for_chroma(matrix, 1), half, grey)[..., 1::2]
        return np.ascontiguousarray(luma), np.ascontiguousarray(chroma)
    luma = _warp(frame.pixels, matrix, side, BLACK_LUMA)
    shrunk = _for_chroma(matrix, 2)
    planes = [_warp(p, shrunk, half, (NO_COLOUR, NO_COLOUR)) for p in frame.chroma]
    return luma, planes[0] if len(planes) == 1 else np.stack(planes, axis=-1)


def _for_chroma(matrix: F64, rows: int) -> F64:
    """The warp of a chroma plane that has half the columns and 1/`rows` of the rows.

    A chroma sample sits between the luma samples it belongs to: at 2c + 0.5 for halved axes. With
    p = S c + o the frame position of chroma sample c, and 2 d + 0.5 that of output sample d, the
    warp A p + t of the luma becomes d = (A S c + A o + t - 0.5) / 2.
    """
    scale = np.array([2.0, rows])
    offset = (scale - 1) / 2
    turn, shift = matrix[:, :2], matrix[:, 2]
    return np.column_stack([turn * scale / 2, (turn @ offset + shift - 0.5) / 2])


def _warp(pixels: U8, matrix: F64, side: int, outside: int | tuple[int, ...]) -> U8:
    border = outside if isinstance(outside, tuple) else (outside,) * 4
    warped = cv2.warpAffine(
        pixels, matrix, (side, side), flags=cv2.INTER_LINEAR, borderValue=border
    )
    return np.asarray(warped, np.uint8)
