"""From the faces of a frame to decisions; a face that fails a gate is compared with nobody."""

from __future__ import annotations

from dataclasses import replace

from painted_faces import EVERYTHING, GREEN, RED, painted_recogniser, picture

from edgefaced.pictures.decode import frame_of
from edgefaced.recognition.identification import Rules, identify_faces
from edgefaced.types import Box, Candidate, Embedding, Match, Outcome

RULES = Rules(threshold=0.9, minimum_margin=0.05, limits=EVERYTHING)


class OnePerson:
    """Knows one embedding, and counts what it is asked."""

    size = 1

    def __init__(self, enrolled: Embedding) -> None:
        self.enrolled = enrolled
        self.asked = 0

    def search(self, probe: Embedding) -> Match | None:
        self.asked += 1
        score = float(probe.vector @ self.enrolled.vector)
        return Match(Candidate("ann", score), None)


def test_each_face_has_its_own_decision_in_the_given_order() -> None:
    recogniser = painted_recogniser()
    frame = frame_of(picture((RED, Box(20, 60, 100, 140)), (GREEN, Box(200, 60, 280, 140))))
    faces = sorted(recogniser.observe(frame), key=lambda face: face.detection.box.left)
    index = OnePerson(recogniser.embed(faces[0].aligned))
    red, green = identify_faces(faces, recogniser, index, RULES)
    assert (red.decision.outcome, red.decision.person_id) == (Outcome.KNOWN, "ann")
    assert (green.decision.outcome, green.decision.person_id) == (Outcome.UNKNOWN, None)
    assert red.face is faces[0]
    assert green.match is not None
    assert green.decision.score == green.match.best.score


def test_a_face_that_fails_a_gate_is_compared_with_nobody() -> None:
    recogniser = painted_recogniser()
    faces = recogniser.observe(frame_of(picture((RED, Box(20, 60, 100, 140)))))
    index = OnePerson(recogniser.embed(faces[0].aligned))
    strict = replace(RULES, limits=replace(EVERYTHING, minimum_sharpness=50))
    (face,) = identify_faces(faces, recogniser, index, strict)
    assert face.faults == ("blurred",)
    assert face.decision.outcome is Outcome.TOO_POOR
    assert face.match is None
    assert index.asked == 0
