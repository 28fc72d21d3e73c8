"""Guiding a person in front of a camera to a few good pictures that differ: what to say, and when
a picture is worth taking. Arithmetic on measured faces; nobody's clock, nobody's words.

Poses are told relative to the person's first frontal picture, so that a camera beside or above
the door, and a face whose nose sits high or low, change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from edgefaced.core.gates import QualityLimits, quality_faults
from edgefaced.types import Quality


class Pose(StrEnum):
    """A way to hold the head; left and right are the person's own."""

    FRONTAL = "frontal"
    LEFT = "slightly left"
    RIGHT = "slightly right"
    UP = "slightly up"
    DOWN = "slightly down"


class Advice(StrEnum):
    """What the person should do now."""

    STEP_IN = "step-in"
    ONE_PERSON = "one-person"
    CLOSER = "closer"
    INTO_VIEW = "into-view"
    MORE_LIGHT = "more-light"
    LESS_LIGHT = "less-light"
    EVEN_LIGHT = "even-light"
    LOOK_HERE = "look-here"
    HOLD_STILL = "hold-still"
    TURN_LEFT = "turn-left"
    TURN_RIGHT = "turn-right"
    CHIN_UP = "chin-up"
    CHIN_DOWN = "chin-down"
    DONE = "done"


FOR_FAULT = {
    "too small": Advice.CLOSER,
    "cut off": Advice.INTO_VIEW,
    "dark": Advice.MORE_LIGHT,
    "overexposed": Advice.LESS_LIGHT,
    "clipped": Advice.LESS_LIGHT,
    "low contrast": Advice.MORE_LIGHT,
    "pose": Advice.LOOK_HERE,
    "blurred": Advice.HOLD_STILL,
    "occluded": Advice.EVEN_LIGHT,
}
"""What a gate that `quality_faults` names asks of the person."""

FOR_POSE = {
    Pose.FRONTAL: Advice.LOOK_HERE,
    Pose.LEFT: Advice.TURN_LEFT,
    Pose.RIGHT: Advice.TURN_RIGHT,
    Pose.UP: Advice.CHIN_UP,
    Pose.DOWN: Advice.CHIN_DOWN,
}


@dataclass(frozen=True, slots=True)
class CoachingLimits:
    """Yaw and pitch as in `Quality`; 0.15 of yaw are about ten degrees."""

    frontal_yaw: float = 0.3
    """How far from straight ahead the first picture may be, in the camera's view."""
    frontal_pitch: float = 0.4
    turned_yaw: tuple[float, float] = (0.15, 0.6)
    """From when to when the head is "slightly" turned from the first picture."""
    turned_pitch: tuple[float, float] = (0.1, 0.5)
    steady: float = 0.15
    """Way between two glimpses, in distances between the eyes, up to which a face holds still."""
    steady_pose: float = 0.1
    """And how far yaw and pitch may change: nobody is taken while turning."""
    steady_glimpses: int = 2
    bystander: float = 0.5
    """Faces smaller than this share of the largest one are in the background."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """One face of one frame: its track, what the picture is worth, and where its middle is."""

    track_id: int
    quality: Quality
    centre: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Coaching:
    """What to say now; `take` is the index of the face whose picture is worth keeping, and
    `pose` what it shows.
    """

    advice: Advice
    take: int | None = None
    pose: Pose | None = None


class Coach:
    """Leads one person through the poses."""

    def __init__(self, quality: QualityLimits, limits: CoachingLimits | None = None) -> None:
        self._quality = quality
        self._limits = limits or CoachingLimits()
        self._last: Glimpse | None = None
        self._still = 0
        self._ahead: tuple[float, float] | None = None
        self.missing = list(Pose)

    def see(self, faces: Sequence[Glimpse]) -> Coaching:
        """Judges the faces of one frame."""
        if not faces:
            self._last = None
            return Coaching(Advice.STEP_IN)
        sizes = [face.quality.interocular_px for face in faces]
        take = sizes.index(max(sizes))
        others = (size for index, size in enumerate(sizes) if index != take)
        if any(not size < self._limits.bystander * sizes[take] for size in others):
            self._last = None
            return Coaching(Advice.ONE_PERSON)
        face = faces[take]
        steady = self._steady(face)
        if faults := quality_faults(face.quality, self._quality):
            return Coaching(FOR_FAULT[faults[0]])
        pose = self._pose(face.quality)
        if pose not in self.missing:
            return Coaching(FOR_POSE[self.missing[0]] if self.missing else Advice.DONE)
        if not steady:
            return Coaching(Advice.HOLD_STILL)
        if pose is Pose.FRONTAL:
            self._ahead = face.quality.yaw, face.quality.pitch
        self.missing.remove(pose)
        self._still = 0
        return Coaching(FOR_POSE[self.missing[0]] if self.missing else Advice.DONE, take, pose)

    def _steady(self, face: Glimpse) -> bool:
        """Whether this face has stayed where it is for some glimpses."""
        last, self._last = self._last, face
        still = last is not None and last.track_id == face.track_id and self._near(last, face)
        self._still = self._still + 1 if still else 1
        return self._still >= self._limits.steady_glimpses

    def _near(self, last: Glimpse, face: Glimpse) -> bool:
        limits, before, after = self._limits, last.quality, face.quality
        turned = max(abs(after.yaw - before.yaw), abs(after.pitch - before.pitch))
        moved = math.dist(last.centre, face.centre)
        return moved <= limits.steady * after.interocular_px and turned <= limits.steady_pose

    def _pose(self, quality: Quality) -> Pose | None:
        """None between two poses and beyond them."""
        limits = self._limits
        if self._ahead is None:
            ahead = abs(quality.yaw) <= limits.frontal_yaw
            return Pose.FRONTAL if ahead and abs(quality.pitch) <= limits.frontal_pitch else None
        yaw, pitch = quality.yaw - self._ahead[0], quality.pitch - self._ahead[1]
        # In units of the least turn, the larger one is what the person is doing.
        sideways = abs(yaw) / limits.turned_yaw[0] >= abs(pitch) / limits.turned_pitch[0]
        if sideways and limits.turned_yaw[0] <= abs(yaw) <= limits.turned_yaw[1]:
            # The camera sees the nose of somebody who turns left go to the picture's right.
            return Pose.LEFT if yaw > 0 else Pose.RIGHT
        if not sideways and limits.turned_pitch[0] <= abs(pitch) <= limits.turned_pitch[1]:
            return Pose.DOWN if pitch > 0 else Pose.UP
        return None
