"""Whether another program did the same work."""

import numpy as np
import pytest

from edgefaced.benchmark.peer import Agreement, Peer, PeerFace, agreement, overlap
from edgefaced.types import Box, Embedding, FaceDetection

OURS = FaceDetection(Box(100, 100, 200, 200), np.zeros((5, 2), np.float32), 0.9)
EMBEDDING = Embedding(np.array([0.6, 0.8], np.float32), "model")


def peer(*, same_weights: bool = True) -> Peer:
    return Peer("other", "1.0", "as it comes", same_weights, lambda pixels: [])


def test_overlap_is_intersection_over_union() -> None:
    box = Box(0, 0, 10, 10)
    assert overlap(box, box) == 1
    assert overlap(box, Box(5, 0, 15, 10)) == pytest.approx(1 / 3)
    assert overlap(box, Box(10, 10, 20, 20)) == 0
    assert overlap(Box(3, 3, 3, 3), Box(3, 3, 3, 3)) == 0


def test_the_same_face_by_the_same_networks_has_a_cosine_whatever_its_length() -> None:
    face = PeerFace(Box(100, 100, 200, 190), np.array([[3, 4]], np.float32))
    found = agreement(peer(), OURS, EMBEDDING, [face])
    assert found is not None
    assert found.overlap == pytest.approx(0.9)
    assert found.cosine == pytest.approx(1)


def test_other_networks_have_no_cosine() -> None:
    face = PeerFace(Box(100, 100, 200, 200), np.array([1, 0, 0], np.float32))
    found = agreement(peer(same_weights=False), OURS, EMBEDDING, [face])
    assert found == Agreement(overlap=1.0, cosine=None)


@pytest.mark.parametrize("boxes", [[], [Box(0, 0, 50, 50)], [OURS.box, OURS.box]])
def test_other_faces_are_other_work(boxes: list[Box]) -> None:
    faces = [PeerFace(box, np.array([3, 4], np.float32)) for box in boxes]
    assert agreement(peer(), OURS, EMBEDDING, faces) is None
