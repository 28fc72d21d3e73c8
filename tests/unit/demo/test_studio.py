"""Scenes: the same for the same seed, inside the frame, and what the screenplay says."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from painted_people import painted_cast

from edgefaced.core.quality import share_inside
from edgefaced.demo.backdrop import HEIGHT_PX, WIDTH_PX, entrance
from edgefaced.demo.bookkeeping import MINIMUM_IN_VIEW, overlap
from edgefaced.demo.recording import moments_of
from edgefaced.demo.script import ENROLLED, FRAMES_PER_SECOND, SCENES
from edgefaced.demo.studio import Cast, Shot, shoot, shots_of

STRIDE = 15


@pytest.fixture(scope="module")
def cast() -> Cast:
    return painted_cast()


@pytest.fixture(scope="module")
def shots(cast: Cast) -> list[Shot]:
    return list(shoot(cast, seed=1, stride=STRIDE))


def test_the_same_seed_gives_the_same_frames(cast: Cast) -> None:
    scenes = SCENES[:1]
    first = list(shoot(cast, seed=3, stride=30, scenes=scenes))
    again = list(shoot(cast, seed=3, stride=30, scenes=scenes))
    other = list(shoot(cast, seed=4, stride=30, scenes=scenes))
    for one, two, three in zip(first, again, other, strict=True):
        assert np.array_equal(one.pixels, two.pixels)
        assert one.truths == two.truths
        assert not np.array_equal(one.pixels, three.pixels)
        assert one.truths != three.truths


def test_frames_have_the_camera_s_size_and_times(shots: list[Shot]) -> None:
    assert len(shots) == sum(shots_of(scene, STRIDE) for scene in SCENES)
    assert all(shot.pixels.shape == (HEIGHT_PX, WIDTH_PX, 3) for shot in shots)
    assert all(shot.pixels.dtype == np.uint8 for shot in shots)
    seconds = [shot.seconds for shot in shots]
    assert seconds == sorted(set(seconds))
    assert seconds[1] == pytest.approx(STRIDE / FRAMES_PER_SECOND)


def test_scenes_follow_each_other_and_count_their_shots(shots: list[Shot]) -> None:
    by_scene: dict[str, list[int]] = defaultdict(list)
    for shot in shots:
        by_scene[shot.scene.name].append(shot.index)
    assert list(by_scene) == [scene.name for scene in SCENES]
    assert all(indices == list(range(len(indices))) for indices in by_scene.values())


def test_faces_are_inside_the_frame_and_not_on_top_of_each_other(cast: Cast) -> None:
    for shot in shoot(cast, seed=2, stride=6):
        for truth in () if shot.scene.crowd else shot.truths:
            assert share_inside(truth.box, WIDTH_PX, HEIGHT_PX) == pytest.approx(1), shot.scene.name
            assert truth.box.width >= 30
            others = [t for t in shot.truths if t is not truth]
            assert all(overlap(truth.box, other.box) == 0 for other in others)


def test_everybody_enrolled_plays_where_the_scene_says(shots: list[Shot]) -> None:
    for scene in SCENES:
        seen = {t.label for s in shots if s.scene is scene for t in s.truths if t.enrolled}
        assert seen == set(scene.enrolled)
    assert {role.value for role in ENROLLED} == set(SCENES[0].enrolled)
    assert [scene.name for scene in SCENES if not scene.enrolled] == [
        "strangers",
        "crowd",
        "nobody",
    ]


def test_nobody_is_nobody(shots: list[Shot]) -> None:
    assert all(not shot.truths for shot in shots if shot.scene.name == "nobody")


def test_the_crowd_passes_by_whole(cast: Cast) -> None:
    """Each face of the group is in view at some time, under a number of its own."""
    crowd = tuple(scene for scene in SCENES if scene.crowd)
    labels = {
        truth.label
        for shot in shoot(cast, seed=1, stride=5, scenes=crowd)
        for truth in shot.truths
        if share_inside(truth.box, WIDTH_PX, HEIGHT_PX) >= MINIMUM_IN_VIEW
    }
    assert labels == {f"Stranger {n}" for n in range(3, 3 + len(cast.crowd.faces))}


def test_the_crowd_s_boxes_lie_where_the_picture_lies(cast: Cast) -> None:
    crowd = next(scene for scene in SCENES if scene.crowd)
    shot = next(shoot(cast, seed=1, stride=1, scenes=(crowd,)))
    face, box = cast.crowd.faces[1], shot.truths[1].box
    there = shot.pixels[round(box.top) : round(box.bottom), round(box.left) : round(box.right)]
    original = cast.crowd.pixels[int(face.top) : int(face.bottom), int(face.left) : int(face.right)]
    assert np.mean(np.abs(there.astype(int) - original)) < 8


def test_a_walk_up_grows_and_a_dusk_darkens(shots: list[Shot]) -> None:
    walk = [t.box.width for s in shots if s.scene.name == "walk-up" for t in s.truths]
    half = len(walk) // 2
    assert walk[:half] == sorted(walk[:half])
    assert walk[half - 1] > 3 * walk[0]
    light = [s.pixels.mean() for s in shots if s.scene.name == "dusk"]
    assert light == sorted(light, reverse=True)
    assert light[-1] < 0.25 * light[0]


@pytest.mark.parametrize("stride", [1, 5, 15, 30, 500])
def test_moments_of_the_sheet_exist_at_every_stride(stride: int) -> None:
    for scene in SCENES:
        moments = moments_of(scene, stride)
        assert moments
        assert moments <= set(range(shots_of(scene, stride)))


def test_the_hall_depends_on_its_seed_alone() -> None:
    one, two = (entrance(np.random.default_rng(9)) for _ in range(2))
    assert np.array_equal(one, two)
    assert one.std() > 10
