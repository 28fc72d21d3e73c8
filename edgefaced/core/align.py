"""Turning a face upright: the similarity that takes five landmarks onto a fixed template."""

from __future__ import annotations

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
    from_z = source[:, 0].astype(np.float64) + 1j * source[:, 1]
    to_z = target[:, 0].astype(np.float64) + 1j * target[:, 1]
    from_mean, to_mean = from_z.mean(), to_z.mean()
    spread = float(np.sum(np.abs(from_z - from_mean) ** 2))
    if not spread > 1e-6:  # also for NaN
        raise ValueError("landmarks coincide or are not finite")
    factor = np.sum(np.conj(from_z - from_mean) * (to_z - to_mean)) / spread
    shift = to_mean - factor * from_mean
    return np.array(
        [[factor.real, -factor.imag, shift.real], [factor.imag, factor.real, shift.imag]],
        dtype=np.float64,
    )
