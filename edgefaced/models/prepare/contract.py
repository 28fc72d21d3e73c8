"""Does the network have the tensors that its manifest promises?"""

from __future__ import annotations

from math import prod

import numpy as np

from edgefaced.errors import ModelContractError
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.prepare.graph import FREE, Graph

BOX_VALUES = 4
LANDMARK_VALUES = 10
HINT = "this is another network than the manifest describes"


def check_original(graph: Graph, spec: ModelSpec) -> None:
    """Names, types and shapes of the file as it came; ModelContractError names the tensor."""
    names = [value.name for value in graph.inputs]
    if names != [spec.input.name]:
        raise ModelContractError(
            f"{spec.id}: the network's inputs are {names}, the manifest says [{spec.input.name!r}]",
            HINT,
        )
    given = graph.inputs[0]
    if given.dtype != np.dtype(spec.input.dtype):
        raise ModelContractError(
            f"{spec.id}: input {given.name!r} is {given.dtype}, the manifest says "
            f"{spec.input.dtype}",
            HINT,
        )
    _check_shape(spec, f"input {given.name!r}", given.shape, spec.input.shape)
    wanted = {output.name for output in spec.output}
    have = graph.output_names()
    for name in sorted(wanted - have):
        raise ModelContractError(f"{spec.id}: the network has no output {name!r}", HINT)
    for name in sorted(have - wanted):
        raise ModelContractError(f"{spec.id}: output {name!r} is not in the manifest", HINT)
    shapes = {value.name: value.shape for value in graph.outputs}
    for output in spec.output:
        if output.shape is not None:
            _check_shape(spec, f"output {output.name!r}", shapes[output.name], output.shape)


def input_shape(spec: ModelSpec, height: int, width: int) -> tuple[int, ...]:
    """Shape of the network's own input at one size."""
    channels_first = spec.input.layout == "NCHW"
    return (1, 3, height, width) if channels_first else (1, height, width, 3)


def exported_size(graph: Graph, spec: ModelSpec) -> int | None:
    """The side of the one square that the file itself takes; None where it is free."""
    sides = graph.inputs[0].shape[2:] if spec.input.layout == "NCHW" else graph.inputs[0].shape[1:3]
    return sides[0] if FREE not in sides and sides[0] == sides[1] else None


def sizes_of(spec: ModelSpec) -> tuple[int, ...]:
    """The square sizes to prepare."""
    if spec.input.sizes is not None:
        return spec.input.sizes
    _, *rest = spec.input.shape
    height, width = rest[1:] if spec.input.layout == "NCHW" else rest[:2]
    if height != width or height == FREE:
        raise ModelContractError(
            f"{spec.id}: input.shape is {height}x{width}", "a square, fixed size is needed"
        )
    return (height,)


def proven_heights(spec: ModelSpec, size: int) -> tuple[int, ...]:
    """At a width of `size`: the square and, for a detector, the height of a 16:9 frame."""
    if spec.decoder is None:
        return (size,)
    step = max(spec.decoder.strides)
    return size, -(-size * 9 // (16 * step)) * step


def check_prepared(graph: Graph, spec: ModelSpec, size: int) -> None:
    """Are the fixed outputs what the decoder or the embedding needs at this size?"""
    shapes = {value.name: value.shape for value in graph.outputs}
    for value in graph.outputs:
        if value.dtype != np.float32:
            raise ModelContractError(
                f"{spec.id}: output {value.name!r} is {value.dtype}, not float32", HINT
            )
    needs: list[tuple[str, int]] = []
    if decoder := spec.decoder:
        for i, stride in enumerate(decoder.strides):
            cells = (size // stride) ** 2 * decoder.anchors
            needs.append((decoder.scores[i], cells))
            needs.append((decoder.boxes[i], cells * BOX_VALUES))
            needs.append((decoder.landmarks[i], cells * LANDMARK_VALUES))
            if decoder.objectness is not None:
                needs.append((decoder.objectness[i], cells))
    if spec.embedding:
        needs.append((spec.embedding.output, spec.embedding.dimension))
    for name, values in needs:
        if prod(shapes[name]) != values:
            raise ModelContractError(
                f"{spec.id}: output {name!r} has {prod(shapes[name])} values at {size}x{size}, "
                f"{values} are needed",
                HINT,
            )


def _check_shape(
    spec: ModelSpec,
    what: str,
    given: tuple[int, ...],
    wanted: tuple[int, ...],
) -> None:
    fits = len(given) == len(wanted) and all(
        FREE in (g, w) or g == w for g, w in zip(given, wanted, strict=True)
    )
    if not fits:
        raise ModelContractError(
            f"{spec.id}: {what} is {list(given)}, the manifest says {list(wanted)}", HINT
        )
