"""The gallery: enrolled people and their templates, encrypted in one SQLite file.

    gallery.db        people, templates, changes (WAL, mode 0600)
    gallery.key       32 random bytes (mode 0600), or a systemd credential

Several processes may hold it open at once. A reader learns of changes by `version()`, which costs
microseconds, and `changes_since()`.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import numpy as np

from edgefaced.errors import ModelMismatch, Refused, UsageError
from edgefaced.gallery import rows
from edgefaced.gallery.database import Database
from edgefaced.gallery.lock import Lock, get_meta, mark_scrub, renewed, settle_key, start, unlock
from edgefaced.gallery.names import (
    checked_external_id,
    checked_groups,
    checked_name,
    checked_note,
)
from edgefaced.gallery.protection import Protection, damaged
from edgefaced.gallery.records import (
    ChangeKind,
    Changes,
    Consent,
    Details,
    NewTemplate,
    Person,
    Removal,
    TemplateTable,
)
from edgefaced.storage.sqlite import BUSY_SECONDS
from edgefaced.types import UNIT_TOLERANCE

OTHER_MODEL_HINT = (
    "use that model's pack, run `edgefaced gallery re-embed` where pictures are kept, "
    "or enrol the people again"
)


class Gallery:
    """An open gallery; one per thread, closed by the `with` that opened it."""

    def __init__(self, database: Database, lock: Lock) -> None:
        self.database = database
        self._lock = lock

    @classmethod
    def open(cls, path: Path, key_file: Path, *, create: bool = False) -> Gallery:
        """Opens a gallery, or starts one with `create`; finishes an interrupted removal.

        One that cannot be written can be read; changing it raises StorageError.
        Raises GalleryMissing, KeyMissing, KeyWrong, GalleryDamaged, GalleryTooNew, GalleryBusy.
        """
        if create:
            start(path, key_file)
        database = Database(path)
        try:
            with database.reading() as db:
                lock = unlock(db, key_file)
            gallery = cls(database, lock)
            if database.writable:
                if lock.from_draft:
                    settle_key(database, key_file)
                gallery.scrub(only_if_pending=True)
        except BaseException:
            database.close()
            raise
        return gallery

    @property
    def protection(self) -> Protection:
        """Seals and opens records; only inside a transaction is it sure to have today's key."""
        return self._lock.protection

    @property
    def key_file(self) -> Path:
        return self._lock.key_file

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent state of the gallery, with the key that fits it."""
        with self.database.reading() as db:
            self._lock = renewed(self._lock, db)
            yield db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed durably or leaves nothing, with the key that fits."""
        with self.database.writing() as db:
            self._lock = renewed(self._lock, db)
            yield db

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Gallery:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Reading

    def people(self) -> list[Person]:
        """Everybody, by name."""
        with self.reading() as db:
            everybody = rows.people(db, self.protection)
        return sorted(everybody, key=lambda person: (person.name.casefold(), person.id))

    def ids(self) -> list[str]:
        """Everybody's id, in order of enrolment; decrypts nothing."""
        with self.reading() as db:
            return [str(i) for (i,) in db.execute("SELECT id FROM people ORDER BY row").fetchall()]

    def find(self, name_or_id: str) -> Person | None:
        """The person of this name (case and width aside) or id."""
        with self.reading() as db:
            person_id = rows.id_of(db, self.protection, name_or_id)
            return None if person_id is None else rows.people(db, self.protection, person_id)[0]

    def id_of(self, name_or_id: str) -> str | None:
        """As `find`, but decrypts nothing: also for people whose records are damaged."""
        with self.reading() as db:
            return rows.id_of(db, self.protection, name_or_id)

    def name_of(self, person_id: str) -> str:
        """Raises Refused where the person is not (or no longer) enrolled."""
        with self.reading() as db:
            name = rows.name_of(db, self.protection, person_id)
        if name is None:
            raise not_enrolled(person_id)
        return name

    def details_of(self, person_id: str) -> Details:
        """Defaults where the person has none or is not enrolled."""
        with self.reading() as db:
            return rows.details_of(db, self.protection, person_id)

    def templates(self, model_id: str) -> TemplateTable:
        """Every template of the model. Raises ModelMismatch where anybody has another model's."""
        with self.reading() as db:
            refuse_other_models(db, model_id)
            revision = rows.revision(db)
            sealed = _sealed(db, model_id)
        return self._open_table(sealed, model_id, revision)

    def templates_of(self, person_id: str, model_id: str) -> TemplateTable:
        """One person's templates of the model; none where there is no such person."""
        with self.reading() as db:
            refuse_other_models(db, model_id)
            revision = rows.revision(db)
            sealed = _sealed(db, model_id, person_id)
        return self._open_table(sealed, model_id, revision)

    def version(self) -> tuple[int, int]:
        """Differs from an earlier value after every commit by anybody; costs microseconds."""
        return self.database.version()

    def changes_since(self, revision: int) -> Changes:
        """What was committed after a revision, by this process or another."""
        with self.reading() as db:
            return rows.changes_since(db, revision)

    # Changing

    def enrol(
        self,
        name: str,
        templates: Sequence[NewTemplate],
        *,
        consent: str | None = None,
        details: Details | None = None,
        extend: bool = False,
    ) -> Person:
        """Enrols a new person, or with `extend` adds to one who is enrolled.

        Raises Refused for a name in use, ModelMismatch for templates of another model than the
        gallery's, EmbeddingError for another dimension, UsageError for what is no name.
        """
        name = checked_name(name)
        now = datetime.now(UTC)
        if not templates:
            raise UsageError("an enrolment needs a template at least")
        agreed = None if consent is None else Consent(checked_note(consent), now)
        with self.writing() as db:
            person_id = rows.id_of(db, self.protection, name)
            if person_id is None:
                person_id = str(uuid.uuid4())
                rows.insert_person(db, self.protection, person_id, name, now)
                kind = ChangeKind.ENROLLED
            elif extend:
                kind = ChangeKind.TEMPLATES
            else:
                raise Refused(f"{name} is already enrolled", "`edgefaced enroll --add` adds to it")
            rows.insert_templates(db, self.protection, person_id, templates, now)
            for model_id in {template.embedding.model_id for template in templates}:
                refuse_other_models(db, model_id)
            if agreed is not None:
                rows.set_consent(db, self.protection, person_id, agreed)
            if details is not None:
                rows.set_details(db, self.protection, person_id, checked_details(details))
            rows.append_change(db, person_id, kind)
            return rows.people(db, self.protection, person_id)[0]

    def describe(self, person_id: str, details: Details) -> Person:
        """Gives a person other details. Raises Refused where nobody has the id, UsageError."""
        details = checked_details(details)
        with self.writing() as db:
            if rows.name_of(db, self.protection, person_id) is None:
                raise not_enrolled(person_id)
            rows.set_details(db, self.protection, person_id, details)
            rows.append_change(db, person_id, ChangeKind.DESCRIBED)
            mark_scrub(db)
            person = rows.people(db, self.protection, person_id)[0]
        self.scrub()
        return person

    def rename(self, person_id: str, name: str) -> Person:
        """Gives a person another name. Raises Refused where it is in use or nobody has the id."""
        name = checked_name(name)
        with self.writing() as db:
            if rows.name_of(db, self.protection, person_id) is None:
                raise not_enrolled(person_id)
            if rows.id_of(db, self.protection, name) not in (None, person_id):
                raise Refused(f"{name} is already enrolled", "choose another name")
            rows.set_name(db, self.protection, person_id, name)
            rows.append_change(db, person_id, ChangeKind.RENAMED)
            mark_scrub(db)
            person = rows.people(db, self.protection, person_id)[0]
        self.scrub()
        return person

    def remove(self, *person_ids: str) -> Removal:
        """Removes people with all their templates and pictures, all of them or none.

        Raises Refused where one is not enrolled. The removal is committed when this returns;
        `scrubbed` is False where another process's reading kept old pages from being overwritten:
        the next `scrub()` or opening finishes that.
        """
        with self.writing() as db:
            templates = pictures = 0
            for person_id in dict.fromkeys(person_ids):
                own = "FROM templates WHERE person_id = ?"
                (count,) = db.execute(f"SELECT count(*) {own}", (person_id,)).fetchone()
                (kept,) = db.execute(
                    f"SELECT count(*) FROM pictures WHERE template IN (SELECT row {own})",  # noqa: S608 - fixed text
                    (person_id,),
                ).fetchone()
                if db.execute("DELETE FROM people WHERE id = ?", (person_id,)).rowcount == 0:
                    raise not_enrolled(person_id)
                templates, pictures = templates + count, pictures + kept
                rows.append_change(db, person_id, ChangeKind.REMOVED)
            mark_scrub(db)
        return Removal(len(set(person_ids)), templates, pictures, scrubbed=self.scrub())

    def scrub(self, *, only_if_pending: bool = False) -> bool:
        """Overwrites what removed or changed records left in the files; True when nothing is left.

        False where another process is reading or the disk is full: then it stays pending.
        """
        with self.reading() as db:
            pending = get_meta(db, "scrub")
        if pending is None and only_if_pending:
            return True
        # Opening a gallery should not wait long for a reader that holds a scrub back.
        if not self.database.rewrite(seconds=1.0 if only_if_pending else BUSY_SECONDS):
            return False
        if pending is not None:
            # A removal that came in the meantime has set another mark, which stays.
            with self.writing() as db:
                db.execute("DELETE FROM meta WHERE key = 'scrub' AND value = ?", (pending,))
        return True

    def _open_table(
        self, sealed: list[tuple[int, str, bytes]], model_id: str, revision: int
    ) -> TemplateTable:
        ids = tuple(dict.fromkeys(person_id for _, person_id, _ in sealed))
        number = {person_id: i for i, person_id in enumerate(ids)}
        owners = np.array([number[person_id] for _, person_id, _ in sealed], dtype=np.intp)
        places = [rows.vector_place(row, person_id, model_id) for row, person_id, _ in sealed]
        records = [(blob, place) for (_, _, blob), place in zip(sealed, places, strict=True)]
        vectors = rows.open_vectors(self.protection, records)
        lengths = np.linalg.norm(vectors, axis=1)
        broken = np.flatnonzero(~(np.abs(lengths - 1) <= UNIT_TOLERANCE))
        if broken.size:
            raise damaged(places[int(broken[0])])
        return TemplateTable(vectors, owners, ids, revision)


def refuse_other_models(db: sqlite3.Connection, model_id: str) -> None:
    """Raises ModelMismatch where a template of another model lies in the gallery."""
    other = db.execute(
        "SELECT model_id, count(DISTINCT person_id) FROM templates WHERE model_id <> ? "
        "GROUP BY model_id",
        (model_id,),
    ).fetchone()
    if other is not None:
        raise ModelMismatch(
            f"{other[1]} enrolled people have templates of {other[0]}, not of {model_id}",
            OTHER_MODEL_HINT,
        )


def checked_details(details: Details) -> Details:
    """Raises UsageError for what cannot be kept."""
    external_id = details.external_id
    return Details(
        None if external_id is None else checked_external_id(external_id),
        checked_groups(details.groups),
    )


def not_enrolled(name_or_id: str) -> Refused:
    return Refused(f"{name_or_id} is not enrolled", "`edgefaced list` shows who is")


def _sealed(
    db: sqlite3.Connection, model_id: str, person_id: str | None = None
) -> list[tuple[int, str, bytes]]:
    only, arguments = (
        ("", (model_id,)) if person_id is None else ("AND person_id = ?", (model_id, person_id))
    )
    return db.execute(
        f"SELECT row, person_id, vector FROM templates WHERE model_id = ? {only} ORDER BY row",  # noqa: S608 - fixed text
        arguments,
    ).fetchall()
