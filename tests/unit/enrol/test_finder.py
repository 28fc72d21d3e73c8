"""Looking for faces: the order of attempts, and coordinates that fit whatever way was taken."""

from __future__ import annotations

import numpy as np
import pytest
from painted_faces import GREEN, RED, PaintedDetector, painted_recogniser, picture

from edgefaced.enrolment.finder import FaceFinder, enlarged, shrunken, turned
from edgefaced.pictures.decode import frame_of
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.types import Box, FaceDetection, Frame

USUAL = Box(100, 60, 200, 160)


def test_faces_are_counted_from_the_left() -> None:
    pixels = picture((RED, Box(220, 20, 300, 100)), (GREEN, Box(20, 100, 100, 180)))
    found = FaceFinder(painted_recogniser()).find(frame_of(pixels))
    assert [face.detection.box.left for face in found.faces] == [20, 220]
    assert found.how == ""


def test_a_small_face_is_found_at_a_larger_size_which_is_opened_once() -> None:
    opened: list[Recogniser] = []

    def larger() -> Recogniser:
        opened.append(painted_recogniser(smallest=0.02))
        return opened[-1]

    frame = frame_of(picture((RED, Box(10, 10, 22, 22))))
    with FaceFinder(painted_recogniser(), larger) as finder:
        assert finder.find(frame_of(picture((RED, USUAL)))).how == ""
        assert opened == []
        for _ in range(2):
            found = finder.find(frame)
            assert found.how == "found at a larger size"
            assert found.faces[0].detection.box == Box(10, 10, 22, 22)
        assert len(opened) == 1


def test_a_face_that_fills_the_frame_is_found_in_its_own_pixels() -> None:
    pixels = picture((RED, Box(0, 0, 200, 200)), width=200, height=200)
    found = FaceFinder(painted_recogniser()).find(frame_of(pixels))
    assert found.how == "found in a shrunken copy"
    box = found.faces[0].detection.box
    assert np.abs(np.array([box.left, box.top, box.right, box.bottom]) - (0, 0, 200, 200)).max() < 2
    assert (found.faces[0].aligned.pixels[60] == RED[::-1]).all()  # cut out of the whole picture


@pytest.mark.parametrize(("width", "height"), [(200, 200), (301, 77), (1, 1), (7, 640)])
def test_shrinking_and_enlarging_are_inverse(width: int, height: int) -> None:
    copy, place = shrunken(np.full((height, width, 3), 250, np.uint8))
    assert copy.shape == (height, width, 3)
    rows, columns = np.nonzero((copy == 250).all(axis=2))
    assert (columns.min(), rows.min()) == (place.left, place.top)
    assert (columns.max() + 1, rows.max() + 1) == (place.right, place.bottom)
    # The outer edge of the copy's pixels is the outer edge of the picture's.
    edges = Box(place.left - 0.5, place.top - 0.5, place.right - 0.5, place.bottom - 0.5)
    seen = FaceDetection(edges, np.full((5, 2), place.centre, np.float32) - 0.5, 0.7)
    back = enlarged(seen, place, width, height)
    box = [back.box.left, back.box.top, back.box.right, back.box.bottom]
    assert box == pytest.approx([-0.5, -0.5, width - 0.5, height - 0.5], abs=1e-3)
    assert back.landmarks[0] == pytest.approx([(width - 1) / 2, (height - 1) / 2], abs=1e-3)
    assert back.score == seen.score


def test_an_empty_picture_has_no_face_in_any_turn() -> None:
    found = FaceFinder(painted_recogniser(), painted_recogniser).find(frame_of(picture()))
    assert found.faces == ()
    assert found.turn_degrees == 0


def test_a_picture_on_its_side_says_how_to_turn_it() -> None:
    class OnlyTall:
        """Finds nothing in pictures that are wider than high."""

        bytes_copied = PaintedDetector.bytes_copied

        def detect(self, frame: Frame) -> list[FaceDetection]:
            return PaintedDetector().detect(frame) if frame.width < frame.height else []

    recogniser = Recogniser(OnlyTall(), painted_recogniser().embedder, ())
    found = FaceFinder(recogniser).find(frame_of(picture((RED, USUAL))))
    assert found.faces == ()
    assert found.turn_degrees == 90


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_turning_is_clockwise(degrees: int) -> None:
    pixels = picture((RED, USUAL))
    assert np.array_equal(
        turned(frame_of(pixels), degrees).pixels, np.rot90(pixels, -degrees // 90)
    )


def test_a_face_on_its_head_is_noticed() -> None:
    finder = FaceFinder(painted_recogniser())
    upright = frame_of(picture((RED, USUAL), (GREEN, Box(220, 20, 300, 100))))
    upside_down = turned(upright, 180)
    for frame, expected in ((upright, False), (upside_down, True)):
        for face in finder.find(frame).faces:
            assert finder.is_upside_down(frame, face) is expected
    # Where turning shows nothing, the face stands as it is.
    face = finder.find(upright).faces[0]
    assert not finder.is_upside_down(frame_of(picture()), face)
