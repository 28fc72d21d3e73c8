"""How well scores tell people apart: ROC, EER, operating points, and accuracy over ten folds.

A comparison matches when its score is at least the threshold. FMR (or FAR) is the share of
impostor comparisons that match, FNMR of genuine ones that do not; TAR is 1 - FNMR.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F64


@dataclass(frozen=True, slots=True, eq=False)
class Roc:
    """Error rates at every distinct score, thresholds ascending; the last lets nothing match."""

    thresholds: F64
    fmr: F64
    fnmr: F64


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The lowest threshold that keeps a wanted FMR, and what genuine comparisons pay for it."""

    wanted_fmr: float
    threshold: float
    fnmr: float

    @property
    def tar(self) -> float:
        return 1.0 - self.fnmr


@dataclass(frozen=True, slots=True)
class FoldAccuracy:
    """Accuracy of each fold at the threshold that the other folds chose."""

    folds: tuple[float, ...]
    thresholds: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.folds))

    @property
    def deviation(self) -> float:
        """Standard deviation over folds; the standard error is this by the root of their number."""
        return float(np.std(self.folds, ddof=1))


def roc(genuine: F64, impostor: F64) -> Roc:
    """Raises ValueError where either kind of comparison is absent."""
    if not genuine.size or not impostor.size:
        raise ValueError("a ROC needs genuine and impostor comparisons")
    thresholds = np.append(np.unique(np.concatenate([genuine, impostor])), np.inf)
    matching = np.searchsorted(np.sort(impostor), thresholds, side="left")
    missed = np.searchsorted(np.sort(genuine), thresholds, side="left")
    return Roc(thresholds, 1.0 - matching / impostor.size, missed / genuine.size)


def equal_error_rate(curve: Roc) -> float:
    """Where FMR and FNMR meet, on the straight line between the two points around it."""
    difference = curve.fnmr - curve.fmr  # from -1 up to 1
    after = int(np.argmax(difference >= 0.0))
    before = after - 1
    part = -difference[before] / (difference[after] - difference[before])
    return float(curve.fmr[before] + part * (curve.fmr[after] - curve.fmr[before]))


def operating_point(
    genuine: F64, highest: F64, impostors: int, wanted_fmr: float
) -> OperatingPoint:
    """The lowest threshold at which at most a share `wanted_fmr` of all impostors matches.

    `highest` holds the highest of `impostors` impostor scores, descending: as many as the rate
    needs, and one more. Raises ValueError where it holds fewer.
    """
    allowed = int(wanted_fmr * impostors * (1.0 + 1e-12))
    if allowed >= highest.size:
        raise ValueError(f"FMR {wanted_fmr:g} needs the {allowed + 1} highest impostor scores")
    threshold = float(np.nextafter(highest[allowed], np.inf))
    return OperatingPoint(wanted_fmr, threshold, float(np.mean(genuine < threshold)))


def fold_accuracy(scores: F64, same: NDArray[np.bool_], folds: NDArray[np.intp]) -> FoldAccuracy:
    """The protocol of LFW's View 2: for each fold the best threshold of all others, then its score.

    `scores`, `same` (whether a pair is genuine) and `folds` have one value a pair.
    """
    accuracies: list[float] = []
    thresholds: list[float] = []
    for fold in np.unique(folds):
        held_out = folds == fold
        threshold = best_threshold(scores[~held_out], same[~held_out])
        right = (scores[held_out] >= threshold) == same[held_out]
        accuracies.append(float(np.mean(right)))
        thresholds.append(threshold)
    return FoldAccuracy(tuple(accuracies), tuple(thresholds))


def best_threshold(scores: F64, same: NDArray[np.bool_]) -> float:
    """The threshold with the most right answers; of several, the middle one.

    Candidates lie halfway between neighbouring scores, and beyond both ends.
    """
    order = np.argsort(scores, kind="stable")
    ordered, genuine = scores[order], same[order]
    # Threshold k leaves the k lowest scores unmatched.
    right = np.concatenate([[0], np.cumsum(~genuine)]) + np.concatenate(
        [np.cumsum(genuine[::-1])[::-1], [0]]
    )
    distinct = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])
    best = np.flatnonzero(distinct & (right == right[distinct].max()))
    k = int(best[best.size // 2])
    padded = np.concatenate([[ordered[0] - 1.0], ordered, [ordered[-1] + 1.0]])
    return float((padded[k] + padded[k + 1]) / 2.0)
