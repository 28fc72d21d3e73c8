"""Decoding against values encoded by hand, and suppression against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.candidates import (
    Candidates,
    RawRows,
    cells_of,
    faces_of,
    join,
    rows_above,
)
from edgefaced.core.letterbox import fit
from edgefaced.core.nms import suppress
from edgefaced.core.scrfd import decode_scrfd
from edgefaced.core.yunet import decode_yunet, scores_yunet
from edgefaced.types import F32

BOX = np.array([40, 24, 104, 120], np.float32)
POINTS = np.array([[60, 50], [90, 50], [75, 70], [62, 95], [88, 95]], np.float32)


def iou(a: F32, b: F32) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    area = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return float(shared / (area - shared)) if area > shared else 0.0


@pytest.mark.parametrize("stride", [8, 16, 32])
def test_scrfd_gives_back_what_was_encoded(stride: int) -> None:
    width, height, anchors = 160, 128, 2
    n = (width // stride) * (height // stride) * anchors
    row, column = 64 // stride, 64 // stride
    index = (row * (width // stride) + column) * anchors + 1
    centre = np.array([column * stride, row * stride], np.float32)
    scores, sides, offsets = np.zeros((n, 1)), np.zeros((n, 4)), np.zeros((n, 10))
    scores[index] = 0.75
    sides[index] = np.concatenate([centre - BOX[:2], BOX[2:] - centre]) / stride
    offsets[index] = ((POINTS - centre) / stride).reshape(-1)
    tensors = {
        "scores": scores.astype(np.float32)[None],
        "boxes": sides.astype(np.float32)[None],
        "offsets": offsets.astype(np.float32)[None],
    }
    cells = cells_of(width, height, stride, anchors)
    rows = rows_above(0.75, **tensors, cells=cells)
    assert rows is not None
    found = decode_scrfd(rows)
    np.testing.assert_allclose(found.points[0, :2], BOX.reshape(2, 2), atol=1e-3)
    np.testing.assert_allclose(found.points[0, 2:], POINTS, atol=1e-3)
    np.testing.assert_allclose(found.scores, [0.75])
    assert rows_above(0.76, **tensors, cells=cells) is None


@pytest.mark.parametrize("stride", [8, 16, 32])
def test_yunet_gives_back_what_was_encoded(stride: int) -> None:
    width, height = 160, 128
    n = (width // stride) * (height // stride)
    row, column = 64 // stride, 64 // stride
    index = row * (width // stride) + column
    corner = np.array([column * stride, row * stride], np.float32)
    centre, size = (BOX[:2] + BOX[2:]) / 2, BOX[2:] - BOX[:2]
    classes, objects = np.zeros((1, n, 1)), np.zeros((1, n, 1))
    boxes, offsets = np.zeros((1, n, 4)), np.zeros((1, n, 10))
    classes[0, index], objects[0, index] = 0.9, 0.4
    boxes[0, index] = np.concatenate([(centre - corner) / stride, np.log(size / stride)])
    offsets[0, index] = ((POINTS - corner) / stride).reshape(-1)
    tensors = {
        "scores": scores_yunet(classes.astype(np.float32), objects.astype(np.float32)),
        "boxes": boxes.astype(np.float32),
        "offsets": offsets.astype(np.float32),
    }
    cells = cells_of(width, height, stride, 1)
    rows = rows_above(0.59, **tensors, cells=cells)
    assert rows is not None
    found = decode_yunet(rows)
    np.testing.assert_allclose(found.points[0, :2], BOX.reshape(2, 2), atol=1e-3)
    np.testing.assert_allclose(found.points[0, 2:], POINTS, atol=1e-3)
    np.testing.assert_allclose(found.scores, [0.6], atol=1e-6)
    assert rows_above(0.61, **tensors, cells=cells) is None


def test_tensors_of_another_size_are_refused() -> None:
    cells = cells_of(160, 160, 32, 2)
    right = {"scores": np.zeros(50, np.float32)}
    right |= {"boxes": np.zeros(200, np.float32), "offsets": np.zeros(500, np.float32)}
    assert rows_above(0.5, **right, cells=cells) is None
    for name, tensor in right.items():
        with pytest.raises(ValueError, match=r"stride 32: .* not 50, 200 and 500"):
            rows_above(0.5, **(right | {name: tensor[:-1]}), cells=cells)
    with pytest.raises(ValueError, match="does not divide 100x64"):
        cells_of(100, 64, 32, 1)


def candidates(boxes: F32, scores: F32) -> Candidates:
    points = np.zeros((len(boxes), 7, 2), np.float32)
    points[:, :2] = boxes.reshape(-1, 2, 2)
    return Candidates(points, scores)


@given(st.integers(0, 2**32 - 1), st.integers(0, 40))
def test_suppression_keeps_the_best_of_every_heap(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    corner = random.uniform(0, 60, (n, 2))
    boxes = np.concatenate([corner, corner + random.uniform(5, 40, (n, 2))], 1).astype(np.float32)
    scores = random.uniform(0, 1, n).astype(np.float32)
    kept = suppress(boxes, scores, 0.4)
    assert list(scores[kept]) == sorted(scores[kept], reverse=True)
    for a in range(len(kept)):
        for b in range(a):
            assert iou(boxes[kept[a]], boxes[kept[b]]) <= 0.4 + 1e-5
    for gone in set(range(n)) - set(kept.tolist()):
        assert any(
            scores[k] >= scores[gone] and iou(boxes[k], boxes[gone]) > 0.4 - 1e-5 for k in kept
        )


def test_faces_lie_in_frame_coordinates_and_broken_candidates_vanish() -> None:
    boxes = np.array([[10, 10, 50, 60], [np.nan, 0, 9, 9], [100, 20, 130, 60]], np.float32)
    found = candidates(boxes, np.array([0.6, 0.9, 0.8], np.float32))
    faces = faces_of(found, fit(1280, 720, 320, 320), 0.4)
    assert [round(f.score, 2) for f in faces] == [0.8, 0.6]
    assert faces[1].box.left == pytest.approx(10.5 * 4 - 0.5)
    assert faces[1].box.bottom == pytest.approx(60.5 * 4 - 0.5)
    assert faces[0].landmarks.shape == (5, 2)


def test_an_infinite_score_is_no_face() -> None:
    found = candidates(np.array([[10, 10, 50, 60]], np.float32), np.array([np.inf], np.float32))
    assert faces_of(found, fit(1280, 720, 320, 320), 0.4) == []


def test_rows_of_several_strides_are_joined_in_order() -> None:
    def row(score: float) -> RawRows:
        one = np.full((1, 10), score, np.float32)
        return RawRows(one[:, :3], one[0, :1], one[:, :4], one)

    first, second = row(0.5), row(0.75)
    assert join([first]) is first
    both = join([first, second])
    np.testing.assert_array_equal(both.scores, [0.5, 0.75])
    assert (both.cells.shape, both.boxes.shape, both.offsets.shape) == ((2, 3), (2, 4), (2, 10))
    np.testing.assert_array_equal(both.boxes[:, 0], [0.5, 0.75])


def test_candidates_that_are_all_finite_are_all_kept() -> None:
    boxes = np.array([[10, 10, 50, 60], [100, 20, 130, 60]], np.float32)
    found = candidates(boxes, np.array([0.6, 0.9], np.float32))
    assert [f.score for f in faces_of(found, fit(320, 320, 320, 320), 0.4)] == pytest.approx(
        [0.9, 0.6]
    )
