"""The demo's screenplay: which scenes, who is in them, where they go, and what the light does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import pi, sin

from edgefaced.demo.backdrop import VANISHING
from edgefaced.demo.figure import Pose
from edgefaced.demo.light import Light

FRAMES_PER_SECOND = 30


class Role(StrEnum):
    """Who plays: two people who are enrolled, and two who are not."""

    PERSON_A = "Person A"
    PERSON_B = "Person B"
    STRANGER_1 = "Stranger 1"
    STRANGER_2 = "Stranger 2"


ENROLLED = (Role.PERSON_A, Role.PERSON_B)

Path = Callable[[float], Pose]
Lighting = Callable[[float], Light]


@dataclass(frozen=True, slots=True)
class Part:
    """One role's time in a scene: from share `enters` of it to `leaves`, along `path` (0..1)."""

    role: Role
    path: Path
    enters: float = 0.0
    leaves: float = 1.0


@dataclass(frozen=True, slots=True)
class Scene:
    """`light` takes the share of the scene that has passed, 0..1.

    `crowd` shows the group picture, panned from side to side, in place of the hall; `moments` are
    the shares of the scene that the contact sheet shows.
    """

    name: str
    story: str
    seconds: float
    light: Lighting
    parts: tuple[Part, ...] = ()
    crowd: bool = False
    moments: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

    @property
    def ticks(self) -> int:
        """Length in frames of the camera."""
        return round(self.seconds * FRAMES_PER_SECOND)

    @property
    def enrolled(self) -> tuple[str, ...]:
        """People who should be recognised in it."""
        return tuple(role.value for role in ENROLLED if any(p.role is role for p in self.parts))


def walk(from_px: float, to_px: float, from_x: float, to_x: float) -> Path:
    """Towards the camera (or away): the face grows, the eyes stay at the camera's height."""

    def at(share: float) -> Pose:
        width = from_px * (to_px / from_px) ** share
        step = sin(share * 10 * pi)
        return Pose(
            x=from_x + (to_x - from_x) * share + 0.04 * width * step,
            y=VANISHING[1] + 0.14 * width + 0.03 * width * abs(step),
            face_width_px=width,
            roll_degrees=2 * step,
        )

    return at


def turn(x: float, width: float) -> Path:
    """Standing: the head leans to either shoulder, then turns to either side."""

    def at(share: float) -> Pose:
        swing = sin(share * 4 * pi)
        leaning = share < 0.5
        return Pose(
            x=x + 30 * swing,
            y=VANISHING[1] + 0.14 * width,
            face_width_px=width,
            roll_degrees=32 * swing if leaning else 0.0,
            yaw=0.0 if leaning else 0.9 * swing,
        )

    return at


def day(_: float) -> Light:
    return Light()


def blur(share: float) -> Light:
    """First the camera shakes, more and less again; then it loses the focus and finds it."""
    if share < 0.5:
        return Light(shake_px=30 * sin(share * 2 * pi), shake_degrees=14)
    return Light(defocus_px=max(7.5 * sin((share - 0.5) * 2 * pi), 0.0))


def dusk(share: float) -> Light:
    return Light(gain=1 - 0.88 * share, gamma=1 + 0.6 * share, noise=2 + 5 * share)


def restless(share: float) -> Light:
    return Light(mottle=18 * share, noise=2 + 10 * share)


SCENES = (
    Scene(
        "walk-up",
        "each walks up to the door",
        5,
        day,
        (
            Part(Role.PERSON_A, walk(36, 210, 700, 560), 0, 0.5),
            Part(Role.PERSON_B, walk(36, 210, 590, 740), 0.5, 1),
        ),
        moments=(0.0, 0.2, 0.44, 0.52, 0.72, 0.94),
    ),
    Scene(
        "turn",
        "leaning and turning the head",
        5,
        day,
        (
            Part(Role.PERSON_A, turn(600, 180), 0, 0.5),
            Part(Role.PERSON_B, turn(690, 180), 0.5, 1),
        ),
        moments=(0.03, 0.07, 0.19, 0.57, 0.81, 0.94),
    ),
    Scene(
        "blur",
        "the camera shakes, then loses focus",
        4,
        blur,
        (
            Part(Role.PERSON_B, walk(120, 150, 560, 640), 0, 0.5),
            Part(Role.PERSON_A, walk(120, 150, 720, 640), 0.5, 1),
        ),
        moments=(0.0, 0.12, 0.25, 0.54, 0.75, 1.0),
    ),
    Scene(
        "dusk",
        "the light goes",
        4,
        dusk,
        (
            Part(Role.PERSON_A, walk(100, 150, 380, 470)),
            Part(Role.PERSON_B, walk(100, 150, 860, 800)),
        ),
    ),
    Scene(
        "two at once",
        "both, and a stranger between them",
        4,
        day,
        (
            Part(Role.STRANGER_2, walk(60, 90, 625, 640)),
            Part(Role.PERSON_A, walk(90, 160, 330, 290)),
            Part(Role.PERSON_B, walk(70, 150, 970, 1040)),
        ),
    ),
    Scene(
        "strangers",
        "two people whom nobody enrolled",
        3,
        day,
        (
            Part(Role.STRANGER_2, walk(80, 170, 840, 930)),
            Part(Role.STRANGER_1, walk(70, 180, 480, 360)),
        ),
    ),
    Scene("crowd", "29 more strangers, in a group picture", 3, day, crowd=True),
    Scene("nobody", "an empty hall and a restless sensor", 2, restless),
)
