"""Galleries of people who do not exist, to measure matching against."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.types import F32, Embedding

TEMPLATES_PER_PERSON = 25
"""A transaction a person; with few people a large gallery is made in seconds, not minutes."""


def directions(count: int, dimension: int, seed: int) -> F32:
    """(count, dimension) unit vectors without any preferred direction; the same for a seed."""
    vectors = np.random.default_rng(seed).standard_normal((count, dimension), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


@contextmanager
def empty_gallery() -> Iterator[Gallery]:
    """A real gallery in a folder of its own, gone afterwards."""
    with TemporaryDirectory(prefix="edgefaced-bench-") as folder:
        place = Path(folder)
        with Gallery.open(place / "gallery.db", place / "gallery.key", create=True) as gallery:
            yield gallery


def enrol_crowd(
    gallery: Gallery,
    model_id: str,
    dimension: int,
    templates: int,
    *,
    first: int = 0,
    told: Callable[[int], None] = lambda _: None,
) -> None:
    """Enrols people until `templates` more are there than the `first` ones that were before.

    `told` hears how many there are after each person.
    """
    for there in range(first, first + templates, TEMPLATES_PER_PERSON):
        count = min(TEMPLATES_PER_PERSON, first + templates - there)
        vectors = directions(count, dimension, seed=there)
        gallery.enrol(
            f"Person {there}", [NewTemplate(Embedding(vector, model_id)) for vector in vectors]
        )
        told(there + count)
