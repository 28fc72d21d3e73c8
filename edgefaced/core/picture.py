"""A whole frame in colour, for a person to look at; the pipeline never makes one."""

from __future__ import annotations

import cv2
import numpy as np

from edgefaced.types import U8, Frame, PixelFormat


def bgr_of(frame: Frame) -> U8:
    """(height, width, 3) in B, G, R: an own copy, whatever the frame's format."""
    pixels = frame.pixels
    match frame.pixel_format:
        case PixelFormat.BGR:
            return pixels.copy()
        case PixelFormat.RGB:
            return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), np.uint8)
        case PixelFormat.YUYV:
            return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_YUV2BGR_YUYV), np.uint8)
        case PixelFormat.NV12:
            chroma = frame.chroma[0]
        case _:  # I420, whose chroma lies in two planes
            chroma = np.stack(frame.chroma, axis=-1)
    return np.asarray(cv2.cvtColorTwoPlane(pixels, chroma, cv2.COLOR_YUV2BGR_NV12), np.uint8)
