"""LFW's View 2 with one recogniser: accuracy over ten folds, TAR at FAR, EER."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgefaced.core.verification import (
    FoldAccuracy,
    OperatingPoint,
    equal_error_rate,
    fold_accuracy,
    operating_point,
    roc,
)
from edgefaced.evaluation.embedding import EmbeddedPictures
from edgefaced.evaluation.pairs import PairList
from edgefaced.types import F64

FAR = (1e-2, 1e-3)
NEVER_MATCHES = -1.0


@dataclass(frozen=True, slots=True)
class LfwResult:
    """Figures over all pairs; `unscored` of them lack a face and count as not matching."""

    pairs: int
    unscored: int
    accuracy: FoldAccuracy
    tar_at_far: tuple[OperatingPoint, ...]
    eer: float


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """Cosine of each pair, whether it is genuine, and its fold."""

    scores: F64
    same: NDArray[np.bool_]
    folds: NDArray[np.intp]
    unscored: int


def score_pairs(listed: PairList, embedded: EmbeddedPictures) -> PairScores:
    """A pair without two embeddings scores -1: somebody who is not seen does not match."""
    row = {picture: at for at, picture in enumerate(embedded.found)}
    scores = np.full(len(listed.pairs), NEVER_MATCHES)
    unscored = 0
    for at, pair in enumerate(listed.pairs):
        first, second = row.get(pair.first), row.get(pair.second)
        if first is None or second is None:
            unscored += 1
        else:
            scores[at] = float(embedded.vectors[first] @ embedded.vectors[second])
    return PairScores(
        scores=scores,
        same=np.array([pair.same for pair in listed.pairs]),
        folds=np.array([pair.fold for pair in listed.pairs], dtype=np.intp),
        unscored=unscored,
    )


def evaluate_lfw(pairs: PairScores) -> LfwResult:
    """The figures that LFW results are compared by; a FAR below one impostor pair is left out."""
    genuine, impostor = pairs.scores[pairs.same], pairs.scores[~pairs.same]
    highest = np.sort(impostor)[::-1]
    wanted = [far for far in FAR if far * impostor.size >= 1.0]
    return LfwResult(
        pairs=pairs.scores.size,
        unscored=pairs.unscored,
        accuracy=fold_accuracy(pairs.scores, pairs.same, pairs.folds),
        tar_at_far=tuple(operating_point(genuine, highest, impostor.size, f) for f in wanted),
        eer=equal_error_rate(roc(genuine, impostor)),
    )
