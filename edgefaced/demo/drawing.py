"""A frame with what was said of it, for people: the recogniser's boxes and the demo's verdicts."""

from __future__ import annotations

import cv2
import numpy as np

from edgefaced.demo.bookkeeping import Sighting, Verdict
from edgefaced.demo.player import Scored
from edgefaced.pictures.annotate import WHITE, Colour, Mark, annotate, text_image
from edgefaced.types import U8, Box, Outcome

NO_LANDMARKS = np.empty((0, 2), dtype=np.float32)
ALARM: Colour = (40, 30, 225)
MISSED: Colour = (235, 235, 235)
CAPTION: Colour = (60, 55, 50)


def drawn(scored: Scored, width: int) -> U8:
    """The shot at this width, with a mark on every face; a false accept frames it in red."""
    pixels = scored.shot.pixels
    scale = width / pixels.shape[1]
    size = (width, round(pixels.shape[0] * scale))
    small = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    marks: list[Mark] = []
    for sighting in scored.sightings:
        if sighting.claim is not None:
            box = scaled(sighting.claim.box, scale)
            outcome = sighting.claim.decision.outcome
            marks.append(Mark(box, NO_LANDMARKS, label(sighting, short=scored.crowded), outcome))
        elif sighting.truth is not None:
            _dashed(small, scaled(sighting.truth.box, scale))
    picture = annotate(small, marks)
    if any(sighting.verdict is Verdict.FALSE_ACCEPT for sighting in scored.sightings):
        _alarm(picture)
    return picture


def captioned(picture: U8, scored: Scored) -> U8:
    """The picture with the scene's name and time in its lower corner, in place."""
    shot = scored.shot
    letters_px = max(11, picture.shape[1] // 44)
    text = f"{shot.scene.name}: {shot.scene.story}   {shot.seconds:.1f} s"
    sign = text_image(text, letters_px, WHITE, CAPTION)
    picture[-sign.shape[0] :, : sign.shape[1]] = sign
    return picture


def label(sighting: Sighting, *, short: bool) -> str:
    """What is written at a face: the name or the reason against it, and the score."""
    if sighting.claim is None:
        return "missed"
    decision = sighting.claim.decision
    score = "" if decision.score is None else f"{decision.score:.2f}"
    if sighting.claim.name is not None:
        return f"{sighting.claim.name} {score}"
    if decision.outcome is Outcome.TOO_POOR:
        return decision.reason.partition(",")[0]
    return score if short else f"unknown {score}"


def scaled(box: Box, scale: float) -> Box:
    return Box(box.left * scale, box.top * scale, box.right * scale, box.bottom * scale)


def _dashed(picture: U8, box: Box) -> None:
    """The corners of a face that was not found."""
    arm_x, arm_y = box.width / 4, box.height / 4
    for x, towards_x in ((box.left, arm_x), (box.right, -arm_x)):
        for y, towards_y in ((box.top, arm_y), (box.bottom, -arm_y)):
            corner = (round(x), round(y))
            cv2.line(picture, corner, (round(x + towards_x), round(y)), MISSED, 1, cv2.LINE_AA)
            cv2.line(picture, corner, (round(x), round(y + towards_y)), MISSED, 1, cv2.LINE_AA)


def _alarm(picture: U8) -> None:
    height, width = picture.shape[:2]
    cv2.rectangle(picture, (0, 0), (width - 1, height - 1), ALARM, max(4, width // 100))
    sign = text_image(Verdict.FALSE_ACCEPT.value, max(11, width // 28), WHITE, ALARM)
    left = (width - sign.shape[1]) // 2
    picture[-sign.shape[0] :, left : left + sign.shape[1]] = sign
