"""ROC and score histogram of all comparisons as one picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgefaced.core.comparisons import EDGES, Comparisons
from edgefaced.errors import DependencyMissing, StorageError, extra
from edgefaced.types import F64


def draw_scores(comparisons: Comparisons, title: str, file: Path) -> None:
    """Writes a PNG. Raises DependencyMissing without matplotlib, StorageError where it cannot."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise DependencyMissing(
            "matplotlib is needed for pictures of curves", extra("plots")
        ) from None
    # The figure is made without pyplot: no display is looked for and nothing stays registered.
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    fmr, tar = curve(comparisons)
    left.semilogx(fmr, tar)
    left.set(xlabel="false match rate", ylabel="true match rate (1 - FNMR)", title="ROC")
    left.grid(visible=True, which="both", alpha=0.3)
    impostors = comparisons.impostor_bins.sum(axis=0) / 2
    for counts, label in ((impostors, "impostor"), (comparisons.genuine_bins, "genuine")):
        share = counts / max(1, counts.sum())
        right.stairs(share, EDGES, fill=True, alpha=0.5, label=f"{label}, n = {counts.sum():,.0f}")
    right.set(xlabel="cosine", ylabel="share of comparisons", title="Scores", xlim=(-0.5, 1.0))
    right.set_yscale("log")
    right.legend(loc="upper left")
    figure.suptitle(title)
    try:
        figure.savefig(file, dpi=120)
    except OSError as error:
        raise StorageError(
            f"{file}: {error.strerror or error}", "is the folder writable?"
        ) from error


def curve(comparisons: Comparisons) -> tuple[F64, F64]:
    """False match rate (ascending) and true match rate: exact in the tail, by 0.01 elsewhere."""
    genuine = np.sort(comparisons.genuine.astype(np.float64))
    tail = comparisons.tail.scores.astype(np.float64)
    tail_fmr = np.arange(1, tail.size + 1) / comparisons.impostors
    counts = comparisons.impostor_bins.sum(axis=0)[::-1] / 2
    edges = EDGES[:-1][::-1]
    below = edges < (tail[-1] if tail.size else np.inf)
    thresholds = np.concatenate([tail, edges[below]])
    fmr = np.concatenate([tail_fmr, (np.cumsum(counts) / comparisons.impostors)[below]])
    missed = np.searchsorted(genuine, thresholds, side="left") / max(1, genuine.size)
    return fmr, 1.0 - missed
