"""Which pictures of a person are kept: arithmetic on their embeddings.

Rows of `vectors` (n, d) and of `enrolled` (m, d), the templates a person already has, are unit
vectors of one model, so that a product of two is their cosine.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F32, F64

DUPLICATE_COSINE = 0.999
"""Above this two pictures are one: the same file, or copied, resized or saved anew."""
MOST_TEMPLATES = 20
"""Of one person: more cost time and give strangers more chances, for little."""


class Choice(StrEnum):
    """What becomes of one picture among the others."""

    KEPT = "kept"
    DUPLICATE = "duplicate picture"
    ANOTHER_PERSON = "another person"
    NO_MAJORITY = "pictures disagree"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choice for one picture.

    `score` is its cosine with what it was held against (absent for a picture alone): the picture
    it repeats, the medoid, or the person's best template; `repeats` the row that it repeats, None
    where that is an enrolled template.
    """

    choice: Choice
    score: float | None = None
    repeats: int | None = None


def choose(
    vectors: F32, enrolled: F32, *, same_person: float, most: int = MOST_TEMPLATES
) -> list[Chosen]:
    """One choice per row of `vectors`, in their order; the same input gives the same answer.

    1. A row that repeats an earlier kept one or an enrolled template is a duplicate.
    2. With `enrolled`, a row below `same_person` to all of it is another person. Without, more
       than half of the rows must agree with their medoid; those that do not are another person,
       and where there is no such majority none is kept.
    3. Of more rows than `most` leaves room for, the ones that differ most are kept.
    """
    chosen: list[Chosen | None] = [None] * len(vectors)
    candidates: list[int] = []
    for row in range(len(vectors)):
        repeated = _repeated(vectors, row, candidates, enrolled)
        if repeated is None:
            candidates.append(row)
        else:
            chosen[row] = repeated
    rows = np.array(candidates, np.intp)
    scores, agrees = _agreement(vectors[rows], enrolled, same_person)
    majority = bool(len(enrolled)) or 2 * int(agrees.sum()) > len(rows)
    kept: set[int] = set()
    if majority:
        alike = rows[agrees]
        kept = {int(alike[i]) for i in spread(vectors[alike], enrolled, most)}
    for row, score, agree in zip(candidates, scores, agrees, strict=True):
        if not majority:
            choice = Choice.NO_MAJORITY
        elif not agree:
            choice = Choice.ANOTHER_PERSON
        else:
            choice = Choice.KEPT if row in kept else Choice.NOT_NEEDED
        alone = not len(enrolled) and len(rows) == 1
        chosen[row] = Chosen(choice, None if alone else float(score))
    return [c for c in chosen if c is not None]


def medoid(vectors: F32, same_person: float) -> int:
    """The row that most others agree with; of equals the closest to all, then the first."""
    cosines = _cosines(vectors, vectors)
    agreeing = (cosines >= same_person).sum(axis=1)
    closest = np.where(agreeing == agreeing.max(), cosines.sum(axis=1), -np.inf)
    return int(closest.argmax())


def spread(vectors: F32, enrolled: F32, most: int) -> list[int]:
    """Rows to keep so that a person has at most `most` templates: those that differ most.

    Beginning with the medoid (or with what is enrolled), the row whose closest kept template is
    farthest is added again and again; of equals the first. Ascending.
    """
    room = max(most - len(enrolled), 0)
    if len(vectors) <= room:
        return list(range(len(vectors)))
    if room == 0:
        return []
    kept: list[int] = []
    if len(enrolled):
        closest = _cosines(vectors, enrolled).max(axis=1)
    else:
        kept.append(medoid(vectors, same_person=-1.0))
        closest = _cosines(vectors, vectors[kept])[:, 0]
    while len(kept) < room:
        closest[kept] = np.inf
        kept.append(int(closest.argmin()))
        closest = np.maximum(closest, _cosines(vectors, vectors[kept[-1:]])[:, 0])
    return sorted(kept)


def lowest_without_itself(vectors: F32) -> float | None:
    """The lowest score at which a row is still found by the others; None for fewer than two.

    What a person's pictures promise for the next one, which is none of them.
    """
    if len(vectors) < 2:
        return None
    cosines = _cosines(vectors, vectors)
    np.fill_diagonal(cosines, -np.inf)
    return float(cosines.max(axis=1).min())


def _repeated(vectors: F32, row: int, earlier: list[int], enrolled: F32) -> Chosen | None:
    for rows, numbers in ((vectors[earlier], earlier), (enrolled, None)):
        if len(rows):
            cosines = _cosines(vectors[row : row + 1], rows)[0]
            closest = int(cosines.argmax())
            if cosines[closest] > DUPLICATE_COSINE:
                repeats = None if numbers is None else numbers[closest]
                return Chosen(Choice.DUPLICATE, float(cosines[closest]), repeats)
    return None


def _agreement(vectors: F32, enrolled: F32, same_person: float) -> tuple[F64, NDArray[np.bool_]]:
    """Per row the score that decides and whether it suffices."""
    if not len(vectors):
        return np.empty(0), np.empty(0, np.bool_)
    if len(enrolled):
        scores = _cosines(vectors, enrolled).max(axis=1)
    else:
        scores = _cosines(vectors, vectors)[:, medoid(vectors, same_person)]
    return scores, scores >= same_person


def _cosines(a: F32, b: F32) -> F64:
    return a.astype(np.float64) @ b.astype(np.float64).T
