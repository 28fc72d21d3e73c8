"""The live index: the gallery's templates in memory, kept up with what other processes change."""

from __future__ import annotations

from edgefaced.core.matching import best_match, exact_scores, scan_error
from edgefaced.errors import EmbeddingError, ModelMismatch, RecordDamaged
from edgefaced.gallery.matrix import TemplateMatrix
from edgefaced.gallery.records import TemplateTable
from edgefaced.gallery.scan import BY_NUMPY, IndexKind, choose_scan
from edgefaced.gallery.store import Gallery
from edgefaced.types import Embedding, Match


class LiveIndex:
    """Searches the templates of one model; used by the thread that opened its gallery."""

    def __init__(
        self, gallery: Gallery, model_id: str, kind: IndexKind, *, despite_damage: bool = False
    ) -> None:
        self.gallery = gallery
        self.model_id = model_id
        self._kind: IndexKind = kind
        self._scan = BY_NUMPY
        self._matrix: TemplateMatrix | None = None
        self._version = (0, 0)
        self._revision = 0
        self._damaged: dict[str, RecordDamaged] = {}
        self._load(despite_damage=despite_damage)

    @property
    def size(self) -> int:
        """Number of templates."""
        return 0 if self._matrix is None else self._matrix.count

    @property
    def people(self) -> int:
        """Number of people with templates."""
        return 0 if self._matrix is None else self._matrix.people

    @property
    def scan_name(self) -> str:
        """How this index searches: "exact" or "faiss"."""
        return self._scan.name

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
        found = self._scan.run(vectors, probe.vector, owners, scan_error(matrix.dimension))
        return best_match(exact_scores(vectors[found], probe.vector), owners[found], matrix.ids)

    def refresh(self) -> bool:
        """Takes over what was committed since the last call; True where anything changed.

        Costs microseconds when nothing did. Raises ModelMismatch where the gallery was moved to
        another model and RecordDamaged for an altered record, at every call until that is
        mended: whoever is concerned is out of the index and cannot match.
        """
        version = self.gallery.version()
        if version == self._version:
            self._complain()
            return False
        changes = self.gallery.changes_since(self._revision)
        if changes.complete:
            # Whoever was damaged may have been mended.
            touched = dict.fromkeys((*self._damaged, *(c.person_id for c in changes.items)))
            self._take_over(list(touched))
            self._version, self._revision = version, changes.revision
        else:
            self._load(despite_damage=True)
        self._complain()
        return bool(changes.items) or not changes.complete

    def close(self) -> None:
        """Overwrites the templates in memory; searching afterwards finds nobody."""
        if self._matrix is not None:
            self._matrix.clear()

    def _load(self, *, despite_damage: bool) -> None:
        version = self.gallery.version()
        revision = self.gallery.changes_since(self._revision).revision
        self.close()
        self._matrix, self._damaged = None, {}
        try:
            table = self.gallery.templates(self.model_id)
        except RecordDamaged:
            if not despite_damage:
                raise
            self._take_over(self.gallery.ids())
        else:
            self._add(table)
            revision = table.revision
        self._scan = choose_scan(self._kind, self.size)
        self._version, self._revision = version, revision

    def _take_over(self, person_ids: list[str]) -> None:
        """Their templates as they are now, which may be newer than what is known to have changed:
        the next refresh then takes them over once more. A damaged person stays out.
        """
        self._damaged = {i: e for i, e in self._damaged.items() if i not in person_ids}
        for person_id in person_ids:
            if self._matrix is not None:
                self._matrix.remove(person_id)
        for person_id in person_ids:
            try:
                self._add(self.gallery.templates_of(person_id, self.model_id))
            except RecordDamaged as error:
                self._damaged[person_id] = error

    def _complain(self) -> None:
        for error in self._damaged.values():
            raise RecordDamaged(error.message, error.hint)

    def _add(self, table: TemplateTable) -> None:
        rows, dimension = table.vectors.shape
        if rows == 0:
            return
        if self._matrix is None or (self.size == 0 and self._matrix.dimension != dimension):
            self._matrix = TemplateMatrix(dimension)
        self._matrix.add(table.vectors, table.owners, table.person_ids)
        table.vectors[:] = 0  # the matrix has its own copy, which it overwrites on removal


def open_index(
    gallery: Gallery, model_id: str, kind: IndexKind = "auto", *, despite_damage: bool = False
) -> LiveIndex:
    """The index of a gallery for one model; "auto" is faiss where it is installed and wins.

    Raises ModelMismatch where people are enrolled for another model, DependencyMissing for
    "faiss" without the package, RecordDamaged; `despite_damage` leaves whose record is damaged out,
    and the first refresh says so.
    """
    return LiveIndex(gallery, model_id, kind, despite_damage=despite_damage)
