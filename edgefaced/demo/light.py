"""What a camera does to a scene: shake, focus, exposure, noise."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F64, U8

NOISE_MARGIN_PX = 64


@dataclass(frozen=True, slots=True)
class Light:
    """How a scene is exposed; the defaults are a good day.

    `gain` scales the light, `gamma` above 1 drowns the shadows, `noise` is the sensor's standard
    deviation in levels, `shake_px` and `shake_degrees` the camera's way during the exposure,
    `defocus_px` the radius of the blur, `mottle` a coarse coloured disturbance in levels.
    """

    gain: float = 1.0
    gamma: float = 1.0
    noise: float = 1.5
    shake_px: float = 0.0
    shake_degrees: float = 0.0
    defocus_px: float = 0.0
    mottle: float = 0.0


class Sensor:
    """Exposes scenes of one size; noise comes from one seed, so a sequence can be repeated."""

    def __init__(self, width: int, height: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._size = (width, height)
        # One large tile, shifted from frame to frame: drawing a million normal deviates for each
        # frame would cost a small board more than recognising the faces.
        tile = self._rng.normal(0, 1, size=(height + NOISE_MARGIN_PX, width + NOISE_MARGIN_PX))
        self._tile = tile.astype(np.float32)

    def expose(self, scene: U8, light: Light) -> U8:
        """A new picture of the scene, as this sensor would give it."""
        picture = scene
        if light.shake_px >= 1:
            picture = _pixels(
                cv2.filter2D(picture, -1, streak(light.shake_px, light.shake_degrees))
            )
        if light.defocus_px > 0:
            picture = _pixels(cv2.GaussianBlur(picture, (0, 0), light.defocus_px))
        if light.gain != 1 or light.gamma != 1:
            picture = _pixels(cv2.LUT(picture, tone_curve(light.gain, light.gamma)))
        disturbance = self._grain(light.noise)
        if light.mottle > 0:
            disturbance = disturbance + self._mottle(light.mottle)
        return _pixels(cv2.add(picture, disturbance, dtype=cv2.CV_8U))

    def _grain(self, noise: float) -> NDArray[np.float32]:
        width, height = self._size
        left, top = (int(n) for n in self._rng.integers(0, NOISE_MARGIN_PX, size=2))
        grain = self._tile[top : top + height, left : left + width] * np.float32(noise)
        return np.asarray(cv2.merge((grain, grain, grain)), dtype=np.float32)

    def _mottle(self, levels: float) -> NDArray[np.float32]:
        width, height = self._size
        coarse = self._rng.normal(0, levels, size=(height // 8, width // 8, 3)).astype(np.float32)
        smooth = cv2.resize(coarse, self._size, interpolation=cv2.INTER_CUBIC)
        return np.asarray(smooth, dtype=np.float32)


def streak(length_px: float, degrees: float) -> F64:
    """The path of a point during a shake: an odd square kernel that sums to one."""
    side = int(length_px) | 1
    kernel = np.zeros((side, side), dtype=np.float64)
    middle = (side - 1) / 2
    angle = np.radians(degrees)
    steps = np.linspace(-middle, middle, 4 * side)
    columns = np.rint(middle + steps * np.cos(angle)).astype(int)
    rows = np.rint(middle + steps * np.sin(angle)).astype(int)
    np.add.at(kernel, (rows, columns), 1.0)
    return np.asarray(kernel / kernel.sum(), dtype=np.float64)


def tone_curve(gain: float, gamma: float) -> U8:
    """(1, 256) table: a level 0..255 after this gain and gamma."""
    levels = np.linspace(0, 1, 256)
    return _pixels(np.clip(np.rint(255 * gain * levels**gamma), 0, 255))[np.newaxis]


def _pixels(picture: NDArray[np.generic]) -> U8:
    return np.asarray(picture, dtype=np.uint8)
