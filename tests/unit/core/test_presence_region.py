"""An empty scene sleeps, a person wakes it at once; parts of frames are views."""

from __future__ import annotations

import numpy as np
import pytest

from edgefaced.core.letterbox import fit
from edgefaced.core.presence import PresenceGate, PresenceLimits, luma_thumb
from edgefaced.core.region import SIDE_STEP_PX, crop, shifted, square_around
from edgefaced.core.sampling import bytes_drawn
from edgefaced.types import U8, Box, FaceDetection, Frame, PixelFormat

FRAME = 1 / 30
RANDOM = np.random.default_rng(7)
ROOM = RANDOM.integers(40, 200, (27, 48)).astype(np.float64)


def scene(*, noise: float = 4.0, gain: float = 1.0, person: int | None = None) -> U8:
    picture = ROOM * gain
    if person is not None:
        picture = picture.copy()
        picture[8:24, person : person + 6] = 90 * gain
    noisy = picture + RANDOM.normal(0, noise, picture.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def asleep() -> tuple[PresenceGate, float]:
    gate, now = PresenceGate(), 0.0
    for _ in range(300):
        gate.look(scene(), now)
        now += FRAME
    return gate, now


def looks(gate: PresenceGate, now: float, frames: int, *, gain: float = 1.0) -> list[bool]:
    return [gate.look(scene(gain=gain), now + i * FRAME) for i in range(frames)]


def test_an_empty_scene_is_looked_at_a_few_times_a_second() -> None:
    gate, now = asleep()
    seen = sum(looks(gate, now, 300))
    assert 20 <= seen <= 30, "about 2.5 a second over 10 seconds"


def test_a_person_is_looked_at_with_the_first_frame_and_while_there() -> None:
    gate, now = asleep()
    assert not gate.look(scene(), now + 0.01)
    assert gate.look(scene(person=3), now + 0.02)
    walking = [gate.look(scene(person=3 + i // 3), now + 0.05 + i * FRAME) for i in range(60)]
    assert all(walking)


@pytest.mark.parametrize("gain", [0.9, 1.15])
def test_exposure_is_not_a_person(gain: float) -> None:
    gate, now = asleep()
    assert sum(looks(gate, now, 60, gain=gain)) <= 8


def test_slow_daylight_is_not_a_person() -> None:
    gate, now = asleep()
    seen = 0
    for i in range(1800):
        seen += gate.look(scene(gain=1 - i / 6000), now + i * FRAME)
    assert seen <= 1800 * FRAME / 0.4 * 1.3


def test_a_face_or_a_motion_input_keeps_it_awake() -> None:
    gate, now = asleep()
    gate.wake(now)
    assert all(looks(gate, now, 50))
    assert not all(looks(gate, now + 5, 10))


def test_the_first_frame_is_looked_at() -> None:
    assert PresenceGate(PresenceLimits()).look(scene(), 0.0)


def test_thumbs_of_all_formats_are_luma() -> None:
    grey = np.full((270, 480), 77, np.uint8)
    frames = [
        Frame(0, 0, np.repeat(grey[..., None], 3, 2), PixelFormat.BGR),
        Frame(0, 0, np.stack([grey, grey * 0], axis=-1), PixelFormat.YUYV),
        Frame(0, 0, grey, PixelFormat.NV12, (np.zeros((135, 240, 2), np.uint8),)),
    ]
    for frame in frames:
        assert luma_thumb(frame).shape == (27, 48)
        assert (luma_thumb(frame) == 77).all()
    assert luma_thumb(Frame(0, 0, np.zeros((1, 2, 3), np.uint8), PixelFormat.RGB)).shape == (27, 48)


def test_a_crop_is_a_view_on_even_pixels() -> None:
    luma = RANDOM.integers(0, 256, (100, 200), np.uint8)
    chroma = RANDOM.integers(0, 256, (50, 100, 2), np.uint8)
    cut = crop(Frame(4, 5, luma, PixelFormat.NV12, (chroma,)), Box(11.5, 7, 50.2, 31))
    assert cut is not None
    part, left, top = cut
    assert (left, top, part.width, part.height, part.sequence) == (10, 6, 40, 26, 4)
    assert np.shares_memory(part.pixels, luma)
    assert np.shares_memory(part.chroma[0], chroma)
    np.testing.assert_array_equal(part.chroma[0], chroma[3:16, 5:25])


def test_a_crop_stays_inside_and_may_be_nothing() -> None:
    frame = Frame(0, 0, np.zeros((100, 200, 3), np.uint8), PixelFormat.BGR)
    cut = crop(frame, Box(-50, 90, 20, 150))
    assert cut is not None
    assert (cut[0].width, cut[0].height, cut[1], cut[2]) == (20, 10, 0, 90)
    assert crop(frame, Box(300, 0, 400, 50)) is None
    assert crop(frame, Box(-9, -9, -1, -1)) is None


def test_a_detection_of_a_part_lies_in_the_whole() -> None:
    part = FaceDetection(Box(1, 2, 3, 4), np.ones((5, 2), np.float32), 0.9)
    whole = shifted(part, 10, 20)
    assert whole.box == Box(11, 22, 13, 24)
    assert whole.landmarks[0].tolist() == [11, 21]
    assert whole.landmarks.dtype == np.float32


@pytest.mark.parametrize(
    ("face", "square"),
    [
        (Box(300, 200, 340, 260), Box(256, 166, 384, 294)),
        (Box(0, 0, 10, 20), Box(0, 0, 64, 64)),
        (Box(630, 350, 650, 370), Box(576, 296, 640, 360)),
        (Box(100, 0, 400, 300), Box(70, 0, 430, 360)),
        (Box(10, 10, 10, 10), Box(0, 0, 32, 32)),
    ],
)
def test_a_region_is_a_square_inside_the_frame(face: Box, square: Box) -> None:
    frame = Frame(0, 0, np.zeros((360, 640, 3), np.uint8), PixelFormat.BGR)
    assert square_around(face, 2, frame) == square
    part = crop(frame, square)
    assert part is not None
    assert (part[0].width, part[0].height) == (square.width, square.height)


@pytest.mark.parametrize("pixel_format", [f for f in PixelFormat if f is not PixelFormat.YUYV])
def test_a_region_of_any_face_is_drawn_without_anything_between(
    pixel_format: PixelFormat,
) -> None:
    for side in (*range(SIDE_STEP_PX, 720, SIDE_STEP_PX), 720):
        assert bytes_drawn(pixel_format, fit(side, side, 160, 160)) == 3 * 160 * 160


def test_what_moves_beside_a_known_person_is_told_from_the_person() -> None:
    gate, now = asleep()
    width, height = 480, 270  # ten pixels a cell
    ann = Box(60, 100, 80, 120)  # head of a body in cells 3 to 11
    gate.look(scene(), now)
    assert not gate.restless_beside([ann], width, height)
    gate.look(scene(person=4), now + FRAME)
    assert gate.restless_beside([], width, height)
    assert not gate.restless_beside([ann], width, height)
    gate.look(scene(person=30), now + 2 * FRAME)
    assert gate.restless_beside([ann], width, height)
    assert not gate.restless_beside([ann, Box(320, 100, 345, 120)], width, height)
