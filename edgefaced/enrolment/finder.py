"""Finding the faces of a picture that a person chose: thoroughly, because there ought to be one.

Only where nothing was found: first at the configured size, then at a larger one (small faces),
then in a shrunken copy with room around it (a face that fills the frame). Last the picture is
turned, so that "no face" can say that it lies on its side; such a picture is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import cv2
import numpy as np

from edgefaced.recognition.recogniser import FaceObservation, Recogniser
from edgefaced.types import F32, F64, U8, Box, FaceDetection, Frame

SHRUNKEN = 0.5
GROUND = 128
UPRIGHT_ROLL_DEGREES = 45.0
UPSIDE_DOWN_LEAD = 0.03
"""How much surer a detector must be of the turned face; a bald head with a beard came to 0.017."""

_TURNS = {
    90: cv2.ROTATE_90_CLOCKWISE,
    180: cv2.ROTATE_180,
    270: cv2.ROTATE_90_COUNTERCLOCKWISE,
}


@dataclass(frozen=True, slots=True, eq=False)
class FoundFaces:
    """Faces from left to right; `how` is empty when the first look found them.

    Without faces, `turn_degrees` (clockwise) is the turn that makes one appear, 0 if none does.
    """

    faces: tuple[FaceObservation, ...]
    how: str = ""
    turn_degrees: int = 0


class FaceFinder:
    """Looks for faces with one recogniser and, when it has to, a second for a larger size.

    The first is borrowed, the second opened by `open_larger` at first need and closed here.
    """

    def __init__(
        self, recogniser: Recogniser, open_larger: Callable[[], Recogniser] | None = None
    ) -> None:
        self.recogniser = recogniser
        self._open_larger = open_larger
        self._larger: Recogniser | None = None
        self._stack = ExitStack()

    def find(self, frame: Frame) -> FoundFaces:
        """The faces of a frame, in its own pixels whatever way they were found."""
        if faces := self.recogniser.observe(frame):
            return FoundFaces(_left_to_right(faces))
        if self._open_larger is not None:
            if self._larger is None:
                self._larger = self._stack.enter_context(self._open_larger())
            if faces := self._larger.observe(frame):
                return FoundFaces(_left_to_right(faces), "found at a larger size")
        if faces := self._in_shrunken_copy(frame):
            return FoundFaces(_left_to_right(faces), "found in a shrunken copy")
        return FoundFaces((), turn_degrees=self._turn(frame))

    def _in_shrunken_copy(self, frame: Frame) -> list[FaceObservation]:
        copy, place = shrunken(frame.pixels)
        small = Frame(frame.sequence, frame.captured_ns, copy, frame.pixel_format)
        observations: list[FaceObservation] = []
        for seen in self.recogniser.detect(small):
            detection = enlarged(seen, place, frame.width, frame.height)
            aligned = self.recogniser.align(frame, detection)
            quality = self.recogniser.quality(frame, detection, aligned)
            observations.append(FaceObservation(detection, aligned, quality))
        return observations

    def is_upside_down(self, frame: Frame, face: FaceObservation) -> bool:
        """Whether the detector prefers this face in the picture turned by 180 degrees.

        Detectors find many faces that stand on their head, with landmarks as if they did not.
        """
        x, y = face.detection.box.centre
        x, y = frame.width - 1 - x, frame.height - 1 - y
        for seen in self.recogniser.detect(turned(frame, 180)):
            box = seen.box
            if box.left <= x <= box.right and box.top <= y <= box.bottom:
                return seen.score > face.detection.score + UPSIDE_DOWN_LEAD
        return False

    def _turn(self, frame: Frame) -> int:
        for degrees in _TURNS:
            for face in self.recogniser.observe(turned(frame, degrees)):
                if abs(face.quality.roll_degrees) < UPRIGHT_ROLL_DEGREES:
                    return degrees
        return 0

    def close(self) -> None:
        """Closes what was opened here; closing twice is allowed."""
        self._stack.close()
        self._larger = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def turned(frame: Frame, degrees: int) -> Frame:
    """An own copy of a frame, turned clockwise by 90, 180 or 270 degrees."""
    pixels = np.asarray(cv2.rotate(frame.pixels, _TURNS[degrees]), dtype=np.uint8)
    return Frame(frame.sequence, frame.captured_ns, pixels, frame.pixel_format)


def shrunken(pixels: U8) -> tuple[U8, Box]:
    """A copy of the same size with the picture at half of it in the middle, and its place there."""
    height, width = pixels.shape[:2]
    inner_width, inner_height = max(1, round(width * SHRUNKEN)), max(1, round(height * SHRUNKEN))
    left, top = (width - inner_width) // 2, (height - inner_height) // 2
    copy = np.full_like(pixels, GROUND)
    copy[top : top + inner_height, left : left + inner_width] = cv2.resize(
        pixels, (inner_width, inner_height), interpolation=cv2.INTER_AREA
    )
    return copy, Box(left, top, left + inner_width, top + inner_height)


def enlarged(seen: FaceDetection, place: Box, width: int, height: int) -> FaceDetection:
    """A detection in a shrunken copy, in the pixels of the (width, height) picture itself."""
    scale = np.array([width / place.width, height / place.height])
    corner = np.array([place.left, place.top])

    def back(points: F32 | F64) -> F64:
        # An integer is the centre of a pixel: the picture's corner lies at -0.5.
        return np.asarray((points - corner + 0.5) * scale - 0.5, np.float64)

    box = back(np.array([[seen.box.left, seen.box.top], [seen.box.right, seen.box.bottom]]))
    return FaceDetection(
        Box(*box.ravel().tolist()), back(seen.landmarks).astype(np.float32), seen.score
    )


def _left_to_right(faces: list[FaceObservation]) -> tuple[FaceObservation, ...]:
    return tuple(sorted(faces, key=lambda face: face.detection.box.centre))
