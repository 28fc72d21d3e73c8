"""Sharpness sees blur in any direction, and neither exposure nor noise for it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.sharpness import sharpness as of_luma
from edgefaced.types import U8


def sharpness(luma: U8) -> float:
    return of_luma(luma.astype(np.float32), float(luma.std()))


def texture(seed: int = 0) -> U8:
    """Detail in every direction, about as fine as a face's."""
    noise = np.random.default_rng(seed).normal(0, 1, (84, 72)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), 1.5)
    return np.asarray(np.clip(128 + 45 * smooth / smooth.std(), 0, 255), np.uint8)


def smeared(luma: U8, length: int, degrees: float) -> U8:
    kernel = np.zeros((length, length), np.float32)
    kernel[length // 2] = 1
    middle = (length // 2, length // 2)
    turned = cv2.warpAffine(kernel, cv2.getRotationMatrix2D(middle, degrees, 1.0), (length, length))
    return np.asarray(cv2.filter2D(luma, -1, turned / turned.sum()), np.uint8)


@pytest.mark.parametrize("degrees", [0, 45, 90, 135])
def test_motion_in_any_direction_is_seen(degrees: float) -> None:
    assert sharpness(smeared(texture(), 13, degrees)) < sharpness(texture()) / 4


def test_more_blur_is_less_sharp() -> None:
    figures = [
        sharpness(np.asarray(cv2.GaussianBlur(texture(), (0, 0), sigma), np.uint8))
        for sigma in (0.3, 1, 2, 3, 5)
    ]
    assert figures == sorted(figures, reverse=True)
    assert figures[0] > 20 * figures[-1]


@pytest.mark.parametrize("exposure", [0.3, 0.6])
def test_exposure_does_not_count(exposure: float) -> None:
    darker = (texture() * exposure).astype(np.uint8)
    assert sharpness(darker) == pytest.approx(sharpness(texture()), rel=0.1)


def test_a_flat_picture_has_no_sharpness() -> None:
    assert sharpness(np.full((84, 72), 90, np.uint8)) == 0


@given(st.integers(0, 30))
def test_a_mirror_image_is_as_sharp(seed: int) -> None:
    luma = texture(seed)
    for turned in (luma[:, ::-1], luma[::-1], luma.T):
        assert sharpness(np.ascontiguousarray(turned)) == pytest.approx(sharpness(luma), rel=1e-3)
