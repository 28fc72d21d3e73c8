"""The prepared network must answer as the original does, on real input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from edgefaced.core.letterbox import fit
from edgefaced.core.scaling import resize_into
from edgefaced.errors import ModelContractError
from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.prepare.input_stage import IMAGE
from edgefaced.models.prepare.reference import reference_answers
from edgefaced.types import F32, U8, ColourOrder

LOWEST_COSINE = 0.9999

ROUNDING = 1e-6
"""Differences below this are single precision's own: a score map in which nothing was found holds
little else, and its direction says nothing."""


@dataclass(frozen=True, slots=True)
class Proof:
    """How closely the prepared network follows the original, over all outputs and inputs."""

    kind: Literal["photographs", "pattern"]
    inputs: int
    lowest_cosine: float
    largest_difference: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prepared file, and whether onnxruntime has to optimise it when it is loaded."""

    data: bytes
    optimise: bool


def pictures_for(photographs: Sequence[U8], size: int) -> list[U8]:
    """The photographs (BGR), whole and as their middle square, at this size; else a pattern."""
    if not photographs:
        return [pattern(size), 255 - pattern(size)]
    return [p for photo in photographs for p in (_letterboxed(photo, size), _middle(photo, size))]


def pattern(size: int) -> U8:
    """Deterministic structure at every scale: gradients, rings and blocks, no randomness."""
    y, x = np.mgrid[0:size, 0:size].astype(np.float64) / size
    radius = np.hypot(x - 0.5, y - 0.45)
    planes = (
        127 + 120 * np.sin(60 * radius**1.5),
        255 * x * (1 - y) + 40 * np.sin(25 * x) * np.sin(31 * y),
        np.where((np.floor(x * 9) + np.floor(y * 7)) % 2 > 0, 210, 60) * (1 - radius),
    )
    picture: U8 = np.clip(np.stack(planes, axis=-1), 0, 255).astype(np.uint8)
    return picture


def prove(
    spec: ModelSpec,
    original: bytes,
    candidates: Sequence[Candidate],
    photographs: Sequence[U8],
    height: int,
    width: int,
    threads: int,
) -> Proof:
    """Runs the original and every candidate on the same pictures, `width` being the larger side.

    Raises ModelContractError where an output's cosine is below 0.9999 or is none at all.
    """
    pictures = [picture[:height] for picture in pictures_for(photographs, width)]
    names = [output.name for output in spec.output]
    feeds = [network_input(spec, picture) for picture in pictures]
    wanted = reference_answers(original, spec.input.name, names, feeds, threads)
    lowest, largest = 1.0, 0.0
    for candidate in candidates:
        backend = OnnxBackend(candidate.data, threads=threads, optimise=candidate.optimise)
        for picture, answers in zip(pictures, wanted, strict=True):
            given = backend.run({IMAGE: in_colour_order(spec, picture)[None]})
            for name, old, new in zip(names, answers, given, strict=True):
                cosine, difference = agreement(old, new)
                if not cosine >= LOWEST_COSINE:  # also for NaN
                    raise ModelContractError(
                        f"{spec.id} at {width}x{height}: output {name!r} of the prepared network "
                        f"differs from the original's: cosine {cosine:.6f}, {LOWEST_COSINE} is "
                        f"needed",
                        "this version of edgefaced cannot prepare this network",
                    )
                lowest, largest = min(lowest, cosine), max(largest, difference)
        backend.close()
    kind: Literal["photographs", "pattern"] = "photographs" if photographs else "pattern"
    return Proof(kind, len(pictures), lowest, largest)


def weakest(proofs: Sequence[Proof]) -> Proof:
    """All of them as one."""
    return Proof(
        kind=proofs[0].kind,
        inputs=sum(proof.inputs for proof in proofs),
        lowest_cosine=min(proof.lowest_cosine for proof in proofs),
        largest_difference=max(proof.largest_difference for proof in proofs),
    )


def agreement(a: F32, b: F32) -> tuple[float, float]:
    """Cosine of two tensors (1 for two that are zero) and their largest absolute difference.

    The cosine leaves differences below ROUNDING out; tensors of two sizes have none (NaN).
    """
    if a.size != b.size:
        return float("nan"), float("inf")
    x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    apart = np.abs(x - y)
    difference = float(apart.max())
    y = np.where(apart <= ROUNDING, x, y)
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    if lengths == 0:
        return (1.0 if difference == 0 else 0.0), difference
    return float(x @ y) / lengths, difference


def network_input(spec: ModelSpec, picture: U8) -> F32:
    """(pixel - mean) / std in the manifest's layout, computed apart from the prepared graph."""
    mean, std = np.asarray(spec.input.mean), np.asarray(spec.input.std)
    value = (in_colour_order(spec, picture).astype(np.float64) - mean) / std
    if spec.input.layout == "NCHW":
        value = value.transpose(2, 0, 1)
    return np.ascontiguousarray(value[None], np.float32)


def in_colour_order(spec: ModelSpec, picture: U8) -> U8:
    if spec.input.colour_order is ColourOrder.BGR:
        return picture
    return np.ascontiguousarray(picture[..., ::-1])


def _letterboxed(photo: U8, size: int) -> U8:
    height, width = photo.shape[:2]
    box = fit(width, height, size, size)
    canvas = np.zeros((size, size, 3), np.uint8)
    resize_into(canvas[: box.fitted_height, : box.fitted_width], photo)
    return canvas


def _middle(photo: U8, size: int) -> U8:
    height, width = photo.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return _letterboxed(photo[top : top + side, left : left + side], size)
