"""Templates in memory: one contiguous matrix that grows, shrinks and forgets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F32

SMALLEST_CAPACITY = 64


class TemplateMatrix:
    """Rows of unit vectors and the person of each; a row that is removed is overwritten.

    `vectors` and `owners` are views of the live rows, valid until the next change; `ids[owner]` is
    the person of a row, empty for a number that is free. Rows have no order.
    """

    __slots__ = ("_count", "_free", "_numbers", "_owners", "_vectors", "ids")

    def __init__(self, dimension: int) -> None:
        self._vectors: F32 = np.zeros((SMALLEST_CAPACITY, dimension), np.float32)
        self._owners: NDArray[np.intp] = np.zeros(SMALLEST_CAPACITY, np.intp)
        self._count = 0
        self.ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._free: list[int] = []

    @property
    def count(self) -> int:
        return self._count

    @property
    def people(self) -> int:
        """Number of people with rows."""
        return len(self._numbers)

    @property
    def dimension(self) -> int:
        return int(self._vectors.shape[1])

    @property
    def vectors(self) -> F32:
        return self._vectors[: self._count]

    @property
    def owners(self) -> NDArray[np.intp]:
        return self._owners[: self._count]

    def add(self, vectors: F32, owners: NDArray[np.intp], person_ids: Sequence[str]) -> None:
        """Copies rows in; row i is of `person_ids[owners[i]]`, people who have no rows here yet."""
        end = self._count + len(vectors)
        if end > len(self._vectors):
            self._grow(end)
        numbers = np.array([self._number(person_id) for person_id in person_ids], np.intp)
        self._vectors[self._count : end] = vectors
        self._owners[self._count : end] = numbers[owners]
        self._count = end

    def remove(self, person_id: str) -> int:
        """Removes and overwrites a person's rows; returns how many there were."""
        number = self._numbers.pop(person_id, None)
        if number is None:
            return 0
        gone = np.flatnonzero(self.owners == number)
        kept = self._count - len(gone)
        # The last rows fill the holes below `kept`; nothing else moves.
        holes = gone[gone < kept]
        tail = np.arange(kept, self._count)
        movers = tail[self._owners[kept : self._count] != number]
        self._vectors[holes] = self._vectors[movers]
        self._owners[holes] = self._owners[movers]
        self._vectors[kept : self._count] = 0
        self._count = kept
        self.ids[number] = ""
        self._free.append(number)
        return len(gone)

    def clear(self) -> None:
        """Overwrites and forgets everybody."""
        self._vectors[: self._count] = 0
        self._count = 0
        self.ids.clear()
        self._numbers.clear()
        self._free.clear()

    def _number(self, person_id: str) -> int:
        if self._free:
            number = self._free.pop()
            self.ids[number] = person_id
        else:
            number = len(self.ids)
            self.ids.append(person_id)
        self._numbers[person_id] = number
        return number

    def _grow(self, rows: int) -> None:
        capacity = max(rows, 2 * len(self._vectors))
        vectors = np.zeros((capacity, self.dimension), np.float32)
        owners = np.zeros(capacity, np.intp)
        vectors[: self._count], owners[: self._count] = self.vectors, self.owners
        self._vectors[:] = 0
        self._vectors, self._owners = vectors, owners
