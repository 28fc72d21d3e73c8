"""The live index: the gallery's templates in memory, kept up with what other processes change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edgefaced.core.matching import best_match, contenders, exact_scores, scan_error
from edgefaced.errors import DependencyMissing, EmbeddingError, ModelMismatch
from edgefaced.gallery.matrix import TemplateMatrix
from edgefaced.gallery.store import Gallery
from edgefaced.types import F32, Embedding, Match

IndexKind = Literal["auto", "exact", "faiss"]
Scan = Callable[[F32, F32, NDArray[np.intp], float], NDArray[np.intp]]
"""(vectors, probe, owners, error) -> rows that may hold the best or the runner-up person."""

FAISS_WINS_AT_NUMBERS = 10_000 * 512
"""Size of the matrix from which faiss scans faster than a numpy product, measured on one core."""

FIRST_NEIGHBOURS = 16


class LiveIndex:
    """Searches the templates of one model; used by the thread that opened its gallery."""

    def __init__(self, gallery: Gallery, model_id: str, scan: Scan) -> None:
        self.gallery = gallery
        self.model_id = model_id
        self._scan = scan
        self._matrix: TemplateMatrix | None = None
        self._version = (0, 0)
        self._revision = 0
        self._load()

    @property
    def size(self) -> int:
        """Number of templates."""
        return 0 if self._matrix is None else self._matrix.count

    @property
    def people(self) -> int:
        """Number of people with templates."""
        return 0 if self._matrix is None else len(self._matrix.ids) - self._matrix.ids.count("")

    def search(self, probe: Embedding) -> Match | None:
        """Best person and runner-up, or None for an empty gallery.

        Raises ModelMismatch for a probe of another model, EmbeddingError for another dimension.
        """
        if probe.model_id != self.model_id:
            raise ModelMismatch(
                f"a probe of {probe.model_id} cannot be compared with templates of {self.model_id}",
                "use the pack that the gallery was enrolled with",
            )
        matrix = self._matrix
        if matrix is None or matrix.count == 0:
            return None
        if probe.dimension != matrix.dimension:
            raise EmbeddingError(
                f"a probe of {probe.dimension} numbers; templates of {self.model_id} have "
                f"{matrix.dimension}"
            )
        vectors, owners = matrix.vectors, matrix.owners
        found = self._scan(vectors, probe.vector, owners, scan_error(matrix.dimension))
        return best_match(exact_scores(vectors[found], probe.vector), owners[found], matrix.ids)

    def refresh(self) -> bool:
        """Takes over what was committed since the last call; True where anything changed.

        Costs microseconds when nothing did. Raises ModelMismatch where the gallery was moved to
        another model and GalleryDamaged for an altered record: the people concerned are then out
        of the index.
        """
        version = self.gallery.version()
        if version == self._version:
            return False
        changes = self.gallery.changes_since(self._revision)
        if not changes.complete:
            self._load()
            return True
        touched = dict.fromkeys(change.person_id for change in changes.items)
        for person_id in touched:
            if self._matrix is not None:
                self._matrix.remove(person_id)
        for person_id in touched:
            table = self.gallery.templates_of(person_id, self.model_id)
            self._add(table.vectors, table.owners, table.person_ids)
        self._version, self._revision = version, changes.revision
        return bool(changes.items)

    def close(self) -> None:
        """Overwrites the templates in memory; searching afterwards finds nobody."""
        if self._matrix is not None:
            self._matrix.clear()

    def _load(self) -> None:
        version = self.gallery.version()
        self.close()
        table = self.gallery.templates(self.model_id)
        self._add(table.vectors, table.owners, table.person_ids)
        self._version, self._revision = version, table.revision

    def _add(self, vectors: F32, owners: NDArray[np.intp], ids: tuple[str, ...]) -> None:
        if not len(vectors):
            return
        if self._matrix is None or (
            self._matrix.count == 0 and self._matrix.dimension != vectors.shape[1]
        ):
            self._matrix = TemplateMatrix(vectors.shape[1])
        self._matrix.add(vectors, owners, ids)
        vectors[:] = 0  # the matrix has its own copy, which it overwrites on removal


def open_index(gallery: Gallery, model_id: str, kind: IndexKind = "auto") -> LiveIndex:
    """The index of a gallery for one model.

    Raises ModelMismatch where people are enrolled for another model, DependencyMissing for
    "faiss" without the package. "auto" is faiss for a large gallery where it is installed.
    """
    if kind == "exact":
        return LiveIndex(gallery, model_id, numpy_scan)
    if kind == "faiss":
        return LiveIndex(gallery, model_id, faiss_scan())
    try:
        by_faiss = faiss_scan()
    except DependencyMissing:
        return LiveIndex(gallery, model_id, numpy_scan)

    def by_size(
        vectors: F32, probe: F32, owners: NDArray[np.intp], error: float
    ) -> NDArray[np.intp]:
        scan = by_faiss if vectors.size >= FAISS_WINS_AT_NUMBERS else numpy_scan
        return scan(vectors, probe, owners, error)

    return LiveIndex(gallery, model_id, by_size)


def numpy_scan(
    vectors: F32, probe: F32, owners: NDArray[np.intp], error: float
) -> NDArray[np.intp]:
    """Scores every row by one matrix product."""
    return contenders(vectors @ probe, owners, error)


def faiss_scan() -> Scan:
    """Scores every row by faiss, widening the neighbours until nobody else can matter."""
    try:
        import faiss
    except ImportError:
        raise DependencyMissing(
            "the faiss index needs the package faiss-cpu", "pip install 'edgefaced[faiss]'"
        ) from None

    def scan(vectors: F32, probe: F32, owners: NDArray[np.intp], error: float) -> NDArray[np.intp]:
        k = min(FIRST_NEIGHBOURS, len(vectors))
        while True:
            scores, rows = faiss.knn(probe[None], vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
            found = contenders(scores[0], owners[rows[0]], error)
            # Rows beyond the k-th score no higher than it: when the k-th is no contender, none is.
            if k == len(vectors) or (len(found) < k and _two_people(owners[rows[0]])):
                return np.asarray(rows[0][found], np.intp)
            k = min(4 * k, len(vectors))

    return scan


def _two_people(owners: NDArray[np.intp]) -> bool:
    return bool((owners != owners[0]).any())
