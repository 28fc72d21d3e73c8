"""One prepared network of a pack, open for as long as it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.store import ModelStore


@contextmanager
def opened_network(
    store: ModelStore, spec: ModelSpec, size: int, threads: int
) -> Iterator[OnnxBackend]:
    """Raises ModelMissing or ModelDamaged; belongs to the thread that opened it."""
    file = store.prepared(spec, size)
    backend = OnnxBackend(file.data, threads=threads, optimise=not file.optimised)
    try:
        yield backend
    finally:
        backend.close()
