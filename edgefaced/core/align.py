"""Turning a face upright: the similarity that takes five landmarks onto a fixed template."""

from __future__ import annotations

import math

import numpy as np

from edgefaced.types import F32, F64

TEMPLATE: F32 = np.array(
    [
        [38.2946, 51.6963],
        [73.5318, 51.5014],
        [56.0252, 71.7366],
        [41.5493, 92.3655],
        [70.7299, 92.2041],
    ],
    dtype=np.float32,
)
"""Where eyes, nose tip and mouth corners lie in the 112x112 square that ArcFace-style networks
are trained on (Deng et al., "ArcFace", arXiv 1801.07698; figures as published with it)."""


def similarity(source: F32, target: F32) -> F64:
    """The (2, 3) rotation, scale and shift that takes `source` (n, 2) closest to `target` (n, 2).

    Least squares in closed form, never a reflection (Umeyama, PAMI 13, 1991; in the plane it is
    one complex factor). Raises ValueError where the source points coincide or are not finite.
    """
    # Five points: Python's own numbers take a quarter of the time of as many numpy calls.
    from_z = [complex(x, y) for x, y in source.tolist()]
    to_z = [complex(x, y) for x, y in target.tolist()]
    from_mean, to_mean = sum(from_z) / len(from_z), sum(to_z) / len(to_z)
    spread = sum(abs(z - from_mean) ** 2 for z in from_z)
    if not 1e-6 < spread < math.inf:  # also for NaN
        raise ValueError("landmarks coincide or are not finite")
    products = (
        (z - from_mean).conjugate() * (w - to_mean) for z, w in zip(from_z, to_z, strict=True)
    )
    factor = sum(products) / spread
    shift = to_mean - factor * from_mean
    return np.array(
        [[factor.real, -factor.imag, shift.real], [factor.imag, factor.real, shift.imag]],
        dtype=np.float64,
    )
