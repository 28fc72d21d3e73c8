"""A picture as a camera of some format and size would give it: for replaying files."""

from __future__ import annotations

import cv2
import numpy as np

from edgefaced.camera.layout import Planes
from edgefaced.types import U8, PixelFormat


def fitted(bgr: U8, width: int, height: int) -> U8:
    """The picture scaled to fit, in the middle of black; itself where it has the size."""
    if bgr.shape[:2] == (height, width):
        return bgr
    scale = min(width / bgr.shape[1], height / bgr.shape[0])
    inner = (max(round(bgr.shape[1] * scale), 1), max(round(bgr.shape[0] * scale), 1))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    canvas = np.zeros((height, width, 3), np.uint8)
    left, top = (width - inner[0]) // 2, (height - inner[1]) // 2
    canvas[top : top + inner[1], left : left + inner[0]] = cv2.resize(bgr, inner, interpolation=how)
    return canvas


def planes_of(bgr: U8, pixel_format: PixelFormat) -> Planes:
    """Read-only planes of a BGR picture with even sides, in BT.601 limited range where YUV."""
    planes = _converted(bgr, pixel_format)
    for plane in (planes.pixels, *planes.chroma):
        plane.flags.writeable = False
    return planes


def _converted(bgr: U8, pixel_format: PixelFormat) -> Planes:
    if pixel_format is PixelFormat.BGR:
        return Planes(np.ascontiguousarray(bgr).view())
    if pixel_format is PixelFormat.RGB:
        return Planes(np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8))
    height, width = bgr.shape[:2]
    half = (height // 2, width // 2)
    flat = np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420), np.uint8).reshape(-1)
    luma = flat[: width * height].reshape(height, width)
    u, v = flat[width * height :].reshape(2, *half)
    if pixel_format is PixelFormat.I420:
        return Planes(luma, (u, v))
    if pixel_format is PixelFormat.NV12:
        return Planes(luma, (np.stack([u, v], axis=-1),))
    packed = np.empty((height, width, 2), np.uint8)
    packed[..., 0] = luma
    packed[:, 0::2, 1] = np.repeat(u, 2, axis=0)
    packed[:, 1::2, 1] = np.repeat(v, 2, axis=0)
    return Planes(packed)
