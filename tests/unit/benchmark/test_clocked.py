"""The clock around a network changes nothing of it."""

import numpy as np

from edgefaced.benchmark.clocked import ClockedBackend
from edgefaced.inference.canned import CannedBackend
from edgefaced.protocols import TensorSpec

IMAGE = TensorSpec("image", (1, 2, 2, 3), np.dtype(np.uint8))
SCORE = TensorSpec("score", (1, 4), np.dtype(np.float32))


def test_answers_pass_through_and_their_time_is_kept() -> None:
    answer = np.arange(4, dtype=np.float32)[None]
    clocked = ClockedBackend(CannedBackend([IMAGE], [SCORE], [[answer]]))
    assert (clocked.inputs, clocked.outputs, clocked.last_ns) == ((IMAGE,), (SCORE,), 0)
    (given,) = clocked.run({"image": np.zeros((1, 2, 2, 3), np.uint8)})
    assert (given == answer).all()
    assert clocked.last_ns > 0
    clocked.close()
    assert (clocked.bytes_in, clocked.bytes_out) == (12, 16)


class WithMemory(CannedBackend):
    """Has memory of its own for the picture."""

    picture = np.zeros((1, 2, 2, 3), np.uint8)


def test_what_is_drawn_into_stays_what_is_drawn_into() -> None:
    answer = [np.zeros((1, 4), np.float32)]
    assert ClockedBackend(WithMemory([IMAGE], [SCORE], [answer])).picture is WithMemory.picture
    assert ClockedBackend(CannedBackend([IMAGE], [SCORE], [answer])).picture is None
