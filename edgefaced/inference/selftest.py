"""The self-test: a network gives what it gave when it was made, or it does not serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgefaced.errors import ModelError
from edgefaced.protocols import InferenceBackend, Tensor


@dataclass(frozen=True, slots=True)
class Proved:
    """The output that differed most, and its cosine to the right one."""

    output: str
    cosine: float


def prove(
    backend: InferenceBackend,
    model_id: str,
    image: Tensor,
    right: Mapping[str, Tensor],
    lowest: float,
) -> Proved:
    """Runs a picture whose outputs are known. Raises ModelError for a cosine below `lowest`."""
    answers = backend.run({backend.inputs[0].name: image})
    names = [spec.name for spec in backend.outputs]
    cosines = {n: cosine(answer, right[n]) for n, answer in zip(names, answers, strict=True)}
    worst = min(cosines, key=cosines.__getitem__)
    if cosines[worst] < lowest:
        raise ModelError(
            f"{model_id} fails its self-test: {worst} has a cosine of {cosines[worst]:.4f} to the "
            f"right output, {lowest:g} is the least",
            "it does not serve; `edgefaced doctor` compares the versions, converting it again may "
            "mend it",
        )
    return Proved(worst, cosines[worst])


def cosine(a: Tensor, b: Tensor) -> float:
    """Of two tensors as vectors; 1 of two that are all zero, -1 where one is no number."""
    x, y = np.ravel(a).astype(np.float64), np.ravel(b).astype(np.float64)
    if x.size != y.size or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return -1.0
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    if lengths == 0:
        return 1.0 if not (x.any() or y.any()) else 0.0
    return float(np.clip(x @ y / lengths, -1, 1))
