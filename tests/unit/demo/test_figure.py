"""Figures: cut out along the outline, drawn where the pose says, with a coat below."""

from __future__ import annotations

import numpy as np
import pytest
from painted_people import FACE, OUTLINE, RED, painted, person

from edgefaced.demo.figure import Pose, cut_out, draw, turn_head
from edgefaced.types import U8


def blank() -> U8:
    return np.zeros((720, 1280, 3), dtype=np.uint8)


def red(canvas: U8, x: float, y: float) -> int:
    return int(canvas[round(y), round(x), 2])


def test_only_the_person_is_cut_out() -> None:
    figure = person(RED)
    assert figure.opacity[100, 100] == 1
    assert figure.opacity[100, 20] == 0
    assert figure.opacity[:, 0].max() == 0
    assert figure.opacity.shape[0] > 240  # the coat goes on


@pytest.mark.parametrize("width", [30.0, 80.0, 200.0])
def test_the_face_is_where_its_box_says(width: float) -> None:
    canvas = blank()
    box = draw(canvas, person(RED), Pose(600, 300, width))
    assert box.width == pytest.approx(width)
    assert box.height / box.width == pytest.approx(FACE.height / FACE.width)
    assert box.centre == pytest.approx((600, 300))
    assert red(canvas, 600, 300) > 240
    assert red(canvas, box.left + 0.1 * width, 300) > 240
    assert red(canvas, box.left - 0.3 * width, box.top) == 0
    assert red(canvas, 600, 715) > 0  # down to the edge of the frame


def test_positive_roll_leans_clockwise() -> None:
    upright, leaning = blank(), blank()
    draw(upright, person(RED), Pose(600, 300, 100))
    draw(leaning, person(RED), Pose(600, 300, 100, roll_degrees=30))
    top = (600 + 75 * np.sin(np.radians(30)), 300 - 75 * np.cos(np.radians(30)))
    assert red(leaning, *top) > 240
    assert (
        np.argwhere(leaning[600, :, 2] > 100).mean() < np.argwhere(upright[600, :, 2] > 100).mean()
    )


def test_a_figure_outside_the_frame_changes_nothing() -> None:
    for x, y in ((-900, 300), (3000, 300), (600, 2000)):
        canvas = blank()
        draw(canvas, person(RED), Pose(x, y, 80))
        assert not canvas.any()


def test_a_figure_may_be_cut_by_every_edge() -> None:
    for x, y in ((0, 300), (1280, 300), (600, 0), (600, 720)):
        canvas = blank()
        draw(canvas, person(RED), Pose(x, y, 80))
        assert canvas.any()


def test_a_turn_moves_the_nose_more_than_the_rim() -> None:
    stripes = painted(RED)
    stripes[:, 98:102] = (255, 255, 255)
    stripes[:, 64:68] = (255, 255, 255)
    figure = cut_out(stripes, FACE, OUTLINE)

    def shifts(yaw: float) -> tuple[float, float]:
        row = turn_head(figure, yaw).pixels[round(FACE.centre[1]), :, 0].astype(float)
        before = figure.pixels[round(FACE.centre[1]), :, 0].astype(float)
        columns = np.arange(row.size)

        def centre(
            values: np.ndarray[tuple[int], np.dtype[np.float64]], low: int, high: int
        ) -> float:
            part = values[low:high]
            return float((columns[low:high] * part).sum() / part.sum())

        nose = centre(row, 80, 130) - centre(before, 80, 130)
        rim = centre(row, 55, 80) - centre(before, 55, 80)
        return nose, rim

    nose, rim = shifts(0.6)
    assert nose > rim > 0
    assert shifts(-0.6)[0] < 0
    assert shifts(0.0) == pytest.approx((0, 0))
