"""A gallery of the test's own, and embeddings to put in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.types import Embedding

Embed = Callable[..., Embedding]
Template = Callable[..., NewTemplate]


@pytest.fixture
def embedding() -> Embed:
    """Unit vector number `seed` of a model."""

    def make(seed: int, dimension: int = 32, model_id: str = "sface") -> Embedding:
        vector = np.random.default_rng(seed).standard_normal(dimension)
        return Embedding((vector / np.linalg.norm(vector)).astype(np.float32), model_id)

    return make


@pytest.fixture
def template(embedding: Embed) -> Template:
    """A template number `seed`, without a picture unless given one."""

    def make(seed: int, picture: bytes | None = None, **kinds: object) -> NewTemplate:
        return NewTemplate(embedding(seed, **kinds), picture)

    return make


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "gallery.db"


@pytest.fixture
def key_file(path: Path) -> Path:
    return path.with_name("gallery.key")


@pytest.fixture
def gallery(path: Path, key_file: Path) -> Iterator[Gallery]:
    """A new, empty gallery."""
    with Gallery.open(path, key_file, create=True) as opened:
        yield opened


@pytest.fixture
def other(gallery: Gallery, path: Path, key_file: Path) -> Iterator[Gallery]:
    """A second connection to the same gallery, as another process has it."""
    with Gallery.open(path, key_file) as opened:
        yield opened
