"""matplotlib keeps the font files that it has once opened: opened before a test, no test leaks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgefaced.core.comparisons import compare_all
from edgefaced.evaluation.plots import draw_scores


def open_fonts(folder: Path) -> None:
    """Draws a first picture into `folder`. Skips where there is no matplotlib."""
    pytest.importorskip("matplotlib")
    faces = np.eye(4, dtype=np.float32)
    draw_scores(
        compare_all(faces, np.array([0, 0, 1, 1], dtype=np.intp)), "title", folder / "a.png"
    )
