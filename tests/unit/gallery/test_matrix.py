"""The matrix of templates: growing, removing, forgetting."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from edgefaced.gallery.matrix import SMALLEST_CAPACITY, TemplateMatrix
from edgefaced.types import F32

DIMENSION = 4


def rows_of(matrix: TemplateMatrix) -> Counter[tuple[str, tuple[float, ...]]]:
    return Counter(
        (matrix.ids[owner], tuple(map(float, row)))
        for row, owner in zip(matrix.vectors, matrix.owners, strict=True)
    )


class MatrixAsASet(RuleBasedStateMachine):
    """Whatever is done, the matrix holds what a plain collection holds."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = TemplateMatrix(DIMENSION)
        self.model: dict[str, list[tuple[float, ...]]] = {}
        self.number = 0

    @rule(people=st.lists(st.integers(0, 9), max_size=4, unique=True), each=st.integers(1, 40))
    def add(self, people: list[int], each: int) -> None:
        ids = [f"p{n}" for n in people if f"p{n}" not in self.model]
        vectors: F32 = np.empty((len(ids) * each, DIMENSION), np.float32)
        vectors[:] = np.arange(self.number + 1, self.number + 1 + len(vectors))[:, None]
        self.number += len(vectors)
        owners = np.arange(len(vectors)) % max(len(ids), 1)
        self.matrix.add(vectors, owners, ids)
        for i, person_id in enumerate(ids):
            self.model[person_id] = [tuple(map(float, v)) for v in vectors[owners == i]]

    @rule(person=st.integers(0, 9))
    def remove(self, person: int) -> None:
        gone = self.model.pop(f"p{person}", [])
        assert self.matrix.remove(f"p{person}") == len(gone)

    @rule()
    def clear(self) -> None:
        self.matrix.clear()
        self.model.clear()

    @invariant()
    def holds_the_same(self) -> None:
        assert rows_of(self.matrix) == Counter(
            (person_id, row) for person_id, rows in self.model.items() for row in rows
        )
        assert self.matrix.people == len(self.model)
        assert self.matrix.count == sum(map(len, self.model.values()))

    @invariant()
    def nothing_lies_beyond_the_live_rows(self) -> None:
        whole = self.matrix.vectors.base
        assert whole is not None
        assert not whole[self.matrix.count :].any()


TestMatrix = MatrixAsASet.TestCase
TestMatrix.settings = settings(max_examples=100, stateful_step_count=25)


def test_growing_wipes_the_memory_it_leaves() -> None:
    matrix = TemplateMatrix(DIMENSION)
    full = np.ones((SMALLEST_CAPACITY, DIMENSION), np.float32)
    matrix.add(full, np.zeros(len(full), np.intp), ["ann"])
    before = matrix.vectors
    matrix.add(full[:1], np.zeros(1, np.intp), ["bob"])
    assert matrix.count == SMALLEST_CAPACITY + 1
    assert not before.any(), "the smaller matrix was overwritten before it was let go"
    assert matrix.vectors.all()
    assert matrix.vectors.base is not None
    assert len(matrix.vectors.base) == 2 * SMALLEST_CAPACITY
