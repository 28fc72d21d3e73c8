"""The frame that is measured on."""

import numpy as np
import pytest

from edgefaced.benchmark.scene import BACKGROUND, HEIGHT, WIDTH, scene


def test_a_frame_of_that_size_is_taken_as_it_is() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    assert (scene(picture) == picture).all()


@pytest.mark.parametrize(("width", "height"), [(250, 250), (2000, 3000), (3000, 400), (1, 1)])
def test_any_other_lies_in_the_middle_as_large_as_it_fits(width: int, height: int) -> None:
    frame = scene(np.full((height, width, 3), 200, np.uint8))
    assert frame.shape == (HEIGHT, WIDTH, 3)
    rows, columns = np.nonzero((frame == 200).all(axis=2))
    tall, wide = np.ptp(rows) + 1, np.ptp(columns) + 1
    assert tall == HEIGHT or wide == WIDTH
    assert wide / tall == pytest.approx(width / height, rel=0.01)
    assert (frame[0, 0] == (200 if wide == WIDTH and tall == HEIGHT else BACKGROUND)).all()
    assert abs(rows.min() - (HEIGHT - 1 - rows.max())) <= 1
    assert abs(columns.min() - (WIDTH - 1 - columns.max())) <= 1
