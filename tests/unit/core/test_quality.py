"""Figures of quality move the right way; every gate can fail; NaN fails."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from edgefaced.core.align import TEMPLATE
from edgefaced.core.gates import QualityLimits, eased, quality_faults
from edgefaced.core.quality import (
    face_inside,
    measure_quality,
    mirror_correlation,
    pose,
    share_inside,
)
from edgefaced.types import F32, U8, Box, ColourOrder, Quality

LIMITS = QualityLimits(
    minimum_interocular_px=24,
    minimum_sharpness=40,
    minimum_brightness=35,
    maximum_brightness=225,
    minimum_contrast=14,
    maximum_clipped=0.35,
    maximum_yaw=0.45,
    maximum_pitch=0.45,
    maximum_roll_degrees=35,
    minimum_inside=0.9,
    minimum_symmetry=0.1,
)
GOOD = Quality(
    interocular_px=60,
    sharpness=300,
    brightness=120,
    contrast=50,
    clipped=0.01,
    yaw=0.1,
    pitch=-0.1,
    roll_degrees=5,
    inside=1,
    symmetry=0.8,
)


def drawn_face() -> U8:
    """A mirror-symmetric face of ellipses."""
    face = np.full((112, 112, 3), 150, np.uint8)
    for x in (38, 73):
        cv2.ellipse(face, (x, 52), (9, 5), 0, 0, 360, (40, 40, 40), -1)
    cv2.line(face, (56, 60), (56, 72), (90, 90, 90), 3)
    cv2.ellipse(face, (56, 92), (16, 5), 0, 0, 360, (70, 60, 90), -1)
    return face


def measured(face: U8) -> Quality:
    return measure_quality(
        face,
        ColourOrder.BGR,
        TEMPLATE,
        frame_width=112,
        frame_height=112,
    )


def test_a_template_face_is_frontal_and_whole() -> None:
    quality = measured(drawn_face())
    assert abs(quality.yaw) < 0.02
    assert abs(quality.pitch) < 0.02
    assert abs(quality.roll_degrees) < 1
    assert quality.interocular_px == pytest.approx(35.24, abs=0.01)
    assert quality.inside == 1
    assert quality.symmetry > 0.8


def test_blur_lowers_sharpness_and_dusk_lowers_brightness() -> None:
    face = drawn_face()
    blurred = np.asarray(cv2.GaussianBlur(face, (0, 0), 3), dtype=np.uint8)
    assert measured(blurred).sharpness < measured(face).sharpness / 5
    dusk = (face // 4).astype(np.uint8)
    assert measured(dusk).brightness < 45
    assert measured(dusk).contrast < measured(face).contrast / 2
    white = np.full_like(face, 255)
    assert measured(white).clipped == 1
    assert measured(white).symmetry == 0


def test_an_occluded_half_breaks_the_symmetry() -> None:
    face = drawn_face()
    face[:, 56:] = np.random.default_rng(2).integers(0, 256, (112, 56, 3), np.uint8)
    assert measured(face).symmetry < 0.3


def test_luma_weighs_colours_by_the_order() -> None:
    red = np.zeros((112, 112, 3), np.uint8)
    red[..., 0] = 255

    def brightness(order: ColourOrder) -> float:
        return measure_quality(red, order, TEMPLATE, frame_width=9, frame_height=9).brightness

    assert brightness(ColourOrder.RGB) == pytest.approx(76, abs=1)
    assert brightness(ColourOrder.BGR) == pytest.approx(29, abs=1)


def test_pose_follows_the_nose_and_survives_rotation() -> None:
    turned = TEMPLATE.copy()
    turned[2, 0] += 10
    yaw, pitch, roll = pose(turned)
    assert yaw > 0.5
    assert abs(pitch) < 0.05
    angle = np.radians(30)
    spin = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    spun_yaw, spun_pitch, spun_roll = pose((turned @ spin.T).astype(np.float32))
    assert spun_yaw == pytest.approx(yaw, abs=1e-3)
    assert spun_pitch == pytest.approx(pitch, abs=1e-3)
    assert spun_roll == pytest.approx(roll + 30, abs=1e-2)
    lowered = TEMPLATE.copy()
    lowered[2, 1] += 8
    assert pose(lowered)[1] > 0.3


def test_pose_of_nonsense_is_the_worst_not_an_error() -> None:
    assert pose(np.zeros((5, 2), np.float32)) == (1, 1, 180)
    upside = TEMPLATE.copy()
    upside[3:] = [[41, 10], [70, 10]]  # mouth above the eyes
    assert pose(upside)[1] == 1


@pytest.mark.parametrize(("scale", "degrees"), [(1.0, 0), (3.0, 0), (0.5, 90), (2.0, 30)])
def test_face_inside_is_the_share_of_the_aligned_face(scale: float, degrees: float) -> None:
    def placed(x: float) -> F32:
        """The template's middle at (x, 500), scaled and turned."""
        turn = np.exp(1j * np.radians(degrees)) * scale
        points = (TEMPLATE[:, 0] - 56 + 1j * (TEMPLATE[:, 1] - 62)) * turn + complex(x, 500)
        return np.column_stack([points.real, points.imag]).astype(np.float32)

    assert face_inside(placed(500), 1000, 1000) == 1
    assert face_inside(placed(-400), 1000, 1000) == 0
    assert face_inside(placed(0), 1000, 1000) == pytest.approx(0.5, abs=0.06)
    assert face_inside(placed(999), 1000, 1000) == pytest.approx(0.5, abs=0.06)
    assert face_inside(placed(500), 1000, 501) == pytest.approx(0.5, abs=0.06)


def test_landmarks_without_extent_are_outside() -> None:
    assert face_inside(np.ones((5, 2), np.float32), 100, 100) == 0
    assert face_inside(np.full((5, 2), np.nan, np.float32), 100, 100) == 0


def test_share_inside() -> None:
    assert share_inside(Box(-10, 0, 10, 10), 100, 100) == 0.5
    assert share_inside(Box(-10, 0, -1, 10), 100, 100) == 0
    assert share_inside(Box(5, 5, 5, 9), 100, 100) == 0


def test_a_flat_picture_has_no_symmetry() -> None:
    assert mirror_correlation(np.full((40, 40), 9, np.float32)) == 0


@pytest.mark.parametrize(
    ("change", "gate"),
    [
        ({"interocular_px": 23.9}, "too small"),
        ({"inside": 0.5}, "cut off"),
        ({"brightness": 20.0}, "dark"),
        ({"brightness": 240.0}, "overexposed"),
        ({"clipped": 0.5}, "clipped"),
        ({"contrast": 3.0}, "low contrast"),
        ({"yaw": -0.6}, "pose"),
        ({"pitch": 0.6}, "pose"),
        ({"roll_degrees": -50.0}, "pose"),
        ({"sharpness": 10.0}, "blurred"),
        ({"symmetry": -0.2}, "occluded"),
    ],
)
def test_each_gate_fails_alone(change: dict[str, float], gate: str) -> None:
    assert quality_faults(GOOD, LIMITS) == ()
    assert quality_faults(replace(GOOD, **change), LIMITS) == (gate,)
    nothing = dict.fromkeys(change, float("nan"))
    assert gate in quality_faults(replace(GOOD, **nothing), LIMITS)


def test_eased_limits_are_each_a_little_farther_away() -> None:
    wide = eased(LIMITS, 0.1)
    assert wide.minimum_sharpness == pytest.approx(36)
    assert wide.maximum_brightness == pytest.approx(247.5)
    just_under = replace(GOOD, sharpness=38)
    assert quality_faults(just_under, LIMITS) == ("blurred",)
    assert quality_faults(just_under, wide) == ()
