"""What a person is told, in which order pictures are taken, and that only good ones are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgefaced.config.settings import Settings
from edgefaced.core.coaching import FOR_FAULT, Advice, Coach, Glimpse, Pose
from edgefaced.core.gates import quality_faults
from edgefaced.types import Quality

LIMITS = Settings().quality.limits()
GOOD = Quality(
    interocular_px=80,
    sharpness=100,
    brightness=120,
    contrast=40,
    clipped=0,
    yaw=0,
    pitch=0,
    roll_degrees=0,
    inside=1,
    symmetry=0.9,
)


def face(track: int = 1, x: float = 100, **figures: float) -> Glimpse:
    return Glimpse(track, replace(GOOD, **figures), (x, 100))


def twice(coach: Coach, glimpse: Glimpse) -> tuple[Advice, Pose | None]:
    coach.see([glimpse])
    coaching = coach.see([glimpse])
    return coaching.advice, coaching.pose


def test_a_person_is_led_through_all_poses() -> None:
    coach = Coach(LIMITS)
    assert twice(coach, face()) == (Advice.TURN_LEFT, Pose.FRONTAL)
    assert twice(coach, face()) == (Advice.TURN_LEFT, None), "one frontal picture is enough"
    assert twice(coach, face(yaw=0.3)) == (Advice.TURN_RIGHT, Pose.LEFT)
    assert twice(coach, face(pitch=0.2)) == (Advice.TURN_RIGHT, Pose.DOWN), "in any order"
    assert twice(coach, face(yaw=-0.2)) == (Advice.CHIN_UP, Pose.RIGHT)
    assert twice(coach, face(pitch=-0.2)) == (Advice.DONE, Pose.UP)
    assert coach.missing == []
    assert twice(coach, face()) == (Advice.DONE, None)


def test_a_camera_beside_the_door_changes_nothing() -> None:
    coach = Coach(LIMITS)
    assert twice(coach, face(yaw=0.25, pitch=0.3))[1] is Pose.FRONTAL
    assert twice(coach, face(yaw=0.25, pitch=0.32))[1] is None
    assert twice(coach, face(yaw=0.0, pitch=0.3))[1] is Pose.RIGHT
    assert twice(coach, face(yaw=0.25, pitch=0.1))[1] is Pose.UP


@pytest.mark.parametrize("figures", [{"yaw": 0.5}, {"yaw": -0.31}, {"pitch": 0.5}])
def test_the_first_picture_is_frontal(figures: dict[str, float]) -> None:
    assert twice(Coach(LIMITS), face(1, 100, **figures)) == (Advice.LOOK_HERE, None)


def test_a_head_that_is_turned_too_far_is_no_picture() -> None:
    coach = Coach(LIMITS)
    twice(coach, face())
    assert twice(coach, face(yaw=0.7)) == (Advice.TURN_LEFT, None)
    assert twice(coach, face(pitch=-0.6)) == (Advice.TURN_LEFT, None)


@pytest.mark.parametrize(
    ("figures", "advice"),
    [
        ({"interocular_px": 10}, Advice.CLOSER),
        ({"inside": 0.5}, Advice.INTO_VIEW),
        ({"brightness": 10}, Advice.MORE_LIGHT),
        ({"brightness": 250}, Advice.LESS_LIGHT),
        ({"clipped": 0.5}, Advice.LESS_LIGHT),
        ({"sharpness": 1}, Advice.HOLD_STILL),
        ({"symmetry": -0.9}, Advice.EVEN_LIGHT),
        ({"roll_degrees": 60}, Advice.LOOK_HERE),
        ({"brightness": float("nan")}, Advice.MORE_LIGHT),
    ],
)
def test_a_picture_that_is_not_good_enough_is_never_taken(
    figures: dict[str, float], advice: Advice
) -> None:
    coach = Coach(LIMITS)
    for _ in range(5):
        assert twice(coach, face(1, 100, **figures)) == (advice, None)
    assert coach.missing == list(Pose)


def test_every_gate_has_its_advice() -> None:
    nan = float("nan")
    worst = Quality(*([nan] * 10))
    assert set(quality_faults(worst, LIMITS)) == set(FOR_FAULT)


def test_a_face_that_moves_is_asked_to_hold_still() -> None:
    coach = Coach(LIMITS)
    for x in range(0, 500, 50):
        assert coach.see([face(x=x)]).advice is Advice.HOLD_STILL
    assert coach.see([face(x=450)]).take == 0


def test_nobody_is_taken_while_turning() -> None:
    coach = Coach(LIMITS)
    for step in range(6):
        assert coach.see([face(yaw=-0.3 + 0.12 * step)]).advice is Advice.HOLD_STILL
    assert coach.see([face(yaw=0.3)]).pose is Pose.FRONTAL


def test_another_track_begins_to_hold_still_anew() -> None:
    coach = Coach(LIMITS)
    coach.see([face(track=1)])
    assert coach.see([face(track=2)]).take is None
    assert coach.see([]).advice is Advice.STEP_IN
    assert coach.see([face(track=2)]).take is None
    assert coach.see([face(track=2)]).take == 0


def test_two_people_are_too_many_and_the_background_is_not_a_person() -> None:
    coach = Coach(LIMITS)
    both = [face(1, interocular_px=80), face(2, x=300, interocular_px=60)]
    for _ in range(5):
        assert coach.see(both).advice is Advice.ONE_PERSON
    behind = [face(2, x=300, interocular_px=25), face(1, interocular_px=80)]
    coach.see(behind)
    coaching = coach.see(behind)
    assert (coaching.take, coaching.pose) == (1, Pose.FRONTAL)
