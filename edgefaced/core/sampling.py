"""From a camera's own pixels to a network's input or an upright face, with no full frame between.

The big picture is read once, where the camera left it, by the resize or the warp of each plane;
colour is converted afterwards, on the few pixels that are left.
"""

from __future__ import annotations

import cv2
import numpy as np

from edgefaced.core.align import TEMPLATE, similarity
from edgefaced.core.letterbox import Letterbox, halvings, resize_into
from edgefaced.types import F32, F64, FACE_SIDE_PX, U8, ColourOrder, Frame, PixelFormat

PACKED = {PixelFormat.RGB: ColourOrder.RGB, PixelFormat.BGR: ColourOrder.BGR}

BLACK_LUMA, NO_COLOUR = 16, 128
"""Black in limited-range YUV."""

FROM_NV12 = {ColourOrder.RGB: cv2.COLOR_YUV2RGB_NV12, ColourOrder.BGR: cv2.COLOR_YUV2BGR_NV12}


def draw(canvas: U8, frame: Frame, box: Letterbox, order: ColourOrder) -> None:
    """Fits a frame into `canvas` (input_height, input_width, 3), padded with black, in `order`.

    The canvas is the network's input and may be used again and again.
    """
    height, width = box.fitted_height, box.fitted_width
    target = canvas[:height, :width]
    packed = PACKED.get(frame.pixel_format)
    if packed is not None:
        resize_into(target, frame.pixels)
        if packed is not order:
            cv2.cvtColor(target, cv2.COLOR_BGR2RGB, dst=target)
    else:
        # Chroma has half the rows and columns, so both are made even and cut off again.
        luma, chroma = _resized(frame, width + width % 2, height + height % 2)
        if luma.shape == (height, width):
            cv2.cvtColorTwoPlane(luma, chroma, FROM_NV12[order], dst=target)
        else:
            colour = cv2.cvtColorTwoPlane(luma, chroma, FROM_NV12[order])
            np.copyto(target, colour[:height, :width])
    canvas[height:] = 0
    canvas[:height, width:] = 0


def bytes_drawn(pixel_format: PixelFormat, box: Letterbox) -> int:
    """Bytes that `draw` writes for one frame, whatever lies between included, padding aside."""
    height, width, rows, columns = box.height, box.width, box.fitted_height, box.fitted_width

    def halved(channels: int, size: tuple[int, int], target: tuple[int, int]) -> int:
        return channels * sum(tall * wide for tall, wide in halvings(size, target))

    pixels = rows * columns
    if pixel_format in PACKED:
        return 3 * pixels + halved(3, (height, width), (rows, columns))
    rows, columns = rows + rows % 2, columns + columns % 2
    chroma = (rows // 2, columns // 2)
    # Halves: luma 2, chroma 1 (YUYV: both lumas and chroma at once, and again in order), colour 6.
    if pixel_format is PixelFormat.YUYV:
        between = halved(2, (height, width), (rows, columns))
        return 15 * pixels // 2 + between + halved(4, (height, width // 2), chroma)
    between = halved(1, (height, width), (rows, columns))
    return 9 * pixels // 2 + between + halved(2, (height // 2, width // 2), chroma)


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


def _resized(frame: Frame, width: int, height: int) -> tuple[U8, U8]:
    """Luma (height, width) and chroma (height/2, width/2, 2) of a YUV frame, scaled."""
    half = (height // 2, width // 2)

    def scaled(plane: U8, *shape: int) -> U8:
        target = np.empty(shape, np.uint8)
        resize_into(target, plane)
        return target

    if frame.pixel_format is PixelFormat.YUYV:
        luma = scaled(frame.pixels, height, width, 2)[..., 0]
        chroma = scaled(_pairs(frame), *half, 4)[..., 1::2]
        return np.ascontiguousarray(luma), np.ascontiguousarray(chroma)
    luma = scaled(frame.pixels, height, width)
    if frame.pixel_format is PixelFormat.NV12:
        return luma, scaled(frame.chroma[0], *half, 2)
    return luma, np.stack([scaled(plane, *half) for plane in frame.chroma], axis=-1)


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
