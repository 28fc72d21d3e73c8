from __future__ import annotations

import numpy as np
import pytest

from edgefaced.errors import ModelError
from edgefaced.inference.canned import CannedBackend
from edgefaced.protocols import TensorSpec

X = TensorSpec("x", (2,), np.dtype(np.float32))
Y = TensorSpec("y", (1,), np.dtype(np.float32))
FEED = {"x": np.zeros(2, np.float32)}


def answer(value: float) -> list[np.ndarray]:
    return [np.array([value], np.float32)]


def test_gives_its_answers_in_turn_and_stays_with_the_last() -> None:
    backend = CannedBackend([X], [Y], [answer(1), answer(2)])
    assert [float(backend.run(FEED)[0][0]) for _ in range(4)] == [1, 2, 2, 2]


def test_a_refused_run_takes_no_answer() -> None:
    backend = CannedBackend([X], [Y], [answer(1), answer(2)])
    with pytest.raises(ModelError):
        backend.run({})
    assert backend.run(FEED)[0][0] == 1


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([], "one answer"),
        ([[]], "0 tensors"),
        ([answer(1), [np.zeros(2, np.float32)]], r"answer 'y' is float32 \[2\]"),
        ([[np.zeros(1, np.float64)]], "float64"),
    ],
)
def test_refuses_answers_that_are_none(answers: list[list[np.ndarray]], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        CannedBackend([X], [Y], answers)
