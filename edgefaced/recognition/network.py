"""One network of a pack, open for as long as it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from edgefaced.config.sections import InferenceSection
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.store import ModelStore
from edgefaced.protocols import InferenceBackend
from edgefaced.recognition.choose import Means, means_of, open_network


@contextmanager
def opened_network(
    store: ModelStore, spec: ModelSpec, size: int, threads: int, means: Means | None = None
) -> Iterator[InferenceBackend]:
    """By `means`, absent: this machine's, as if nothing were configured.

    Raises what opening a network raises; it belongs to the thread that opened it.
    """
    means = means or means_of(InferenceSection())
    backend = open_network(store, spec, size, threads, means)
    try:
        yield backend
    finally:
        backend.close()
