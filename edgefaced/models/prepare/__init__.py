"""Preparing a network at pull or import time: rewritten, optimised for this machine, and proven.

    read -> check against the manifest -> fix the size -> input stage -> simplify -> free the size
    -> prove -> save

A prepared network has one input `image`, (1, height, width, 3) uint8 in the manifest's colour
order, and the manifest's outputs as float32. A detector's height and width are free: it runs at
every multiple of its largest stride, so that a wide frame is not padded to a square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnxruntime as ort

from edgefaced.models.manifest import ModelSpec
from edgefaced.models.prepare.contract import (
    check_original,
    check_prepared,
    exported_size,
    input_shape,
    proven_heights,
    sizes_of,
)
from edgefaced.models.prepare.graph import Graph
from edgefaced.models.prepare.input_stage import add_input_stage
from edgefaced.models.prepare.onnx_file import read_graph, require_onnx, write_graph
from edgefaced.models.prepare.optimised import (
    channel_block,
    machine_fingerprint,
    optimise,
)
from edgefaced.models.prepare.proof import Candidate, Proof, prove, weakest
from edgefaced.models.prepare.simplify import simplify
from edgefaced.models.prepare.sizing import fix_size, free_size
from edgefaced.types import U8

__all__ = [
    "PREPARE_VERSION",
    "PreparedModel",
    "PreparedVariant",
    "Proof",
    "machine_fingerprint",
    "prepare_model",
]

PREPARE_VERSION = 3
"""Raised with every change of what preparing makes; files of another version are made again."""


@dataclass(frozen=True, slots=True)
class PreparedVariant:
    """One size of a network: a file for any machine, and one that is optimised for this.

    The sizes of a detector share both.
    """

    size: int
    portable: bytes
    optimised: bytes
    proof: Proof


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """What preparing made of the file with hash `spec_sha256`, by what and on which machine."""

    spec_sha256: str
    prepare_version: int
    onnxruntime: str
    machine: str
    variants: tuple[PreparedVariant, ...]


def prepare_model(
    spec: ModelSpec, original: bytes, photographs: Sequence[U8], threads: int
) -> PreparedModel:
    """Every size of one network; `photographs` are BGR pictures to prove it on.

    Raises ModelContractError where the file breaks its manifest or the result differs from the
    original, DependencyMissing without the onnx package.
    """
    require_onnx()
    graph = read_graph(original)
    check_original(graph, spec)
    exported = exported_size(graph, spec)
    sizes = sizes_of(spec)

    portable = write_graph(_rewritten(spec, original, sizes[0], channel_block(threads)))
    optimised = optimise(portable, threads)
    candidates = [Candidate(portable, optimise=True), Candidate(optimised, optimise=False)]

    def variant(size: int) -> PreparedVariant:
        proofs = []
        for height in proven_heights(spec, size):
            # A file of one size is proven as it is at that size, and at another one against itself
            # with nothing changed but the size.
            as_it_is = exported is None or exported == size == height
            held_against = original if as_it_is else _resized(spec, original, height, size)
            proofs.append(prove(spec, held_against, candidates, photographs, height, size, threads))
        return PreparedVariant(size, portable, optimised, weakest(proofs))

    if exported is not None and exported not in sizes:
        variant(exported)
    return PreparedModel(
        spec_sha256=spec.sha256,
        prepare_version=PREPARE_VERSION,
        onnxruntime=ort.__version__,
        machine=machine_fingerprint(),
        variants=tuple(variant(size) for size in sizes),
    )


def _rewritten(spec: ModelSpec, original: bytes, size: int, block: int) -> Graph:
    graph = read_graph(original)
    fix_size(graph, input_shape(spec, size, size))
    by_name = {value.name: value for value in graph.outputs}
    graph.outputs = [by_name[output.name] for output in spec.output]
    check_prepared(graph, spec, size)
    add_input_stage(graph, spec)
    simplify(graph, block=block)
    if spec.decoder is not None:
        free_size(graph)
    return graph


def _resized(spec: ModelSpec, original: bytes, height: int, width: int) -> bytes:
    graph = read_graph(original)
    fix_size(graph, input_shape(spec, height, width))
    return write_graph(graph)
