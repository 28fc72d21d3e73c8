"""Plays the screenplay: frames as a camera would give them, each with who is where in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from edgefaced.demo.backdrop import HEIGHT_PX, WIDTH_PX, entrance
from edgefaced.demo.bookkeeping import Truth
from edgefaced.demo.figure import Figure, Pose, draw
from edgefaced.demo.light import Sensor
from edgefaced.demo.script import ENROLLED, FRAMES_PER_SECOND, SCENES, Role, Scene
from edgefaced.types import U8, Box

SWAY_PX = 14.0
CROWD_TOP, CROWD_MARGIN = 0.29, 0.01
"""Where the view of the group picture lies, in shares of its height and width."""


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """A group picture (h, w, 3) BGR, at least as large as a frame, and the faces in it."""

    pixels: U8
    faces: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody who plays."""

    person_a: Figure
    person_b: Figure
    stranger_1: Figure
    stranger_2: Figure
    crowd: Crowd

    def figure(self, role: Role) -> Figure:
        return {
            Role.PERSON_A: self.person_a,
            Role.PERSON_B: self.person_b,
            Role.STRANGER_1: self.stranger_1,
            Role.STRANGER_2: self.stranger_2,
        }[role]


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """One frame (720, 1280, 3) BGR of the sequence, the `index`-th of its scene."""

    scene: Scene
    index: int
    seconds: float
    pixels: U8
    truths: tuple[Truth, ...]


def shots_of(scene: Scene, stride: int) -> int:
    """How many shots of a scene `shoot` gives."""
    return len(range(0, scene.ticks, stride))


def shoot(
    cast: Cast, *, seed: int, stride: int, scenes: Sequence[Scene] = SCENES
) -> Iterator[Shot]:
    """Every `stride`-th frame of a camera of 30 frames a second; the same for the same seed."""
    rng = np.random.default_rng(seed)
    hall = entrance(rng)
    sensor = Sensor(WIDTH_PX, HEIGHT_PX, seed)
    before = 0
    for scene in scenes:
        sway = [float(rng.uniform(-SWAY_PX, SWAY_PX)) for _ in scene.parts]
        for index, tick in enumerate(range(0, scene.ticks, stride)):
            share = tick / scene.ticks
            if scene.crowd:
                picture, truths = _pan(cast.crowd, share)
            else:
                picture, truths = _stage(cast, hall, scene, share, sway)
            pixels = sensor.expose(picture, scene.light(share))
            seconds = (before + tick) / FRAMES_PER_SECOND
            yield Shot(scene, index, seconds, pixels, truths)
        before += scene.ticks


def _stage(
    cast: Cast, hall: U8, scene: Scene, share: float, sway: Sequence[float]
) -> tuple[U8, tuple[Truth, ...]]:
    """The hall with everybody who is on, the nearest in front."""
    picture = hall.copy()
    on: list[tuple[Role, Pose]] = []
    for part, aside in zip(scene.parts, sway, strict=True):
        if part.enters <= share < part.leaves:
            pose = part.path((share - part.enters) / (part.leaves - part.enters))
            moved = Pose(pose.x + aside, pose.y, pose.face_width_px, pose.roll_degrees, pose.yaw)
            on.append((part.role, moved))
    truths: list[Truth] = []
    for role, pose in sorted(on, key=lambda item: item[1].face_width_px):
        box = draw(picture, cast.figure(role), pose)
        truths.append(Truth(role.value, role in ENROLLED, box))
    return picture, tuple(truths)


def _pan(crowd: Crowd, share: float) -> tuple[U8, tuple[Truth, ...]]:
    """A window as large as a frame that slides over the group picture."""
    height, width = crowd.pixels.shape[:2]
    margin = CROWD_MARGIN * width
    left = margin + (width - WIDTH_PX - 2 * margin) * share
    top = min(CROWD_TOP * height, height - HEIGHT_PX)
    window = np.array([[1, 0, -left], [0, 1, -top]], dtype=np.float64)
    picture = cv2.warpAffine(crowd.pixels, window, (WIDTH_PX, HEIGHT_PX))
    truths: list[Truth] = []
    for number, face in enumerate(crowd.faces, start=len(Role) - len(ENROLLED) + 1):
        box = Box(face.left - left, face.top - top, face.right - left, face.bottom - top)
        if box.right > 0 and box.left < WIDTH_PX:
            truths.append(Truth(f"Stranger {number}", False, box))
    return np.asarray(picture, dtype=np.uint8), tuple(truths)
