"""The sensor: what each disturbance does to a picture, and that it repeats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.demo.light import Light, Sensor, streak, tone_curve
from edgefaced.types import U8

SIZE = (320, 240)
CLEAN = Light(noise=0)


def grey(level: int = 120) -> U8:
    return np.full((SIZE[1], SIZE[0], 3), level, dtype=np.uint8)


def edges() -> U8:
    picture = grey(60)
    picture[:, ::8] = 220
    return picture


def test_a_clean_sensor_changes_nothing() -> None:
    scene = edges()
    assert np.array_equal(Sensor(*SIZE, seed=1).expose(scene, CLEAN), scene)


def test_the_scene_itself_is_never_written_to() -> None:
    scene = edges()
    before = scene.copy()
    Sensor(*SIZE, seed=1).expose(scene, Light(gain=0.5, noise=9, defocus_px=3, mottle=5))
    assert np.array_equal(scene, before)


def test_noise_has_the_deviation_asked_for_and_comes_from_the_seed() -> None:
    one, two = (Sensor(*SIZE, seed=7).expose(grey(), Light(noise=10)) for _ in range(2))
    assert np.array_equal(one, two)
    assert one.std() == pytest.approx(10, rel=0.1)
    sensor = Sensor(*SIZE, seed=7)
    assert not np.array_equal(sensor.expose(grey(), Light()), sensor.expose(grey(), Light()))


@pytest.mark.parametrize("light", [Light(noise=0, shake_px=17), Light(noise=0, defocus_px=4)])
def test_blur_takes_the_edges_and_leaves_the_mean(light: Light) -> None:
    scene = edges()
    seen = Sensor(*SIZE, seed=1).expose(scene, light)
    assert seen.std() < 0.4 * scene.std()
    assert seen.mean() == pytest.approx(scene.mean(), abs=2)


def test_a_sensor_clips_and_does_not_wrap() -> None:
    assert Sensor(*SIZE, seed=1).expose(grey(250), Light(gain=2, noise=5)).min() > 200
    assert Sensor(*SIZE, seed=1).expose(grey(2), Light(gain=0.1, noise=5)).max() < 60


def test_mottle_is_coloured_and_coarse() -> None:
    seen = Sensor(*SIZE, seed=1).expose(grey(), Light(noise=0, mottle=20)).astype(float)
    assert np.abs(seen[..., 0] - seen[..., 2]).mean() > 5
    assert np.abs(np.diff(seen, axis=1)).mean() < 6


@given(st.floats(1, 60), st.floats(-180, 180))
def test_a_streak_keeps_the_light(length_px: float, degrees: float) -> None:
    kernel = streak(length_px, degrees)
    assert kernel.sum() == pytest.approx(1)
    assert kernel.min() >= 0
    assert kernel.shape[0] % 2 == 1


@given(st.floats(0.05, 3), st.floats(0.3, 3))
def test_a_tone_curve_never_descends(gain: float, gamma: float) -> None:
    curve = tone_curve(gain, gamma)
    assert curve.shape == (1, 256)
    assert np.all(np.diff(curve[0].astype(int)) >= 0)
