"""Looking at a gallery: its figures, its file's structure, and every record opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from edgefaced.errors import EdgefacedError
from edgefaced.gallery import rows
from edgefaced.gallery.access import access_place
from edgefaced.gallery.lock import get_meta
from edgefaced.gallery.protection import Place, Protection
from edgefaced.gallery.schema import SCHEMA
from edgefaced.gallery.store import Gallery
from edgefaced.types import Embedding


@dataclass(frozen=True, slots=True)
class GalleryFigures:
    """What a gallery holds; `templates` counts per model id."""

    schema_version: int
    revision: int
    people: int
    templates: dict[str, int]
    pictures: int
    scrub_pending: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """One damaged record and whose it is; `person_id` is empty for the file's own structure."""

    what: str
    person_id: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was looked at, and every fault that was found."""

    people: int
    templates: int
    pictures: int
    faults: tuple[Fault, ...]


def figures_of(gallery: Gallery) -> GalleryFigures:
    """Counts only: nothing is decrypted."""
    with gallery.reading() as db:
        models = db.execute(
            "SELECT model_id, count(*) FROM templates GROUP BY model_id ORDER BY model_id"
        )
        return GalleryFigures(
            schema_version=SCHEMA.version,
            revision=rows.revision(db),
            people=_count(db, "people"),
            templates=dict(models.fetchall()),
            pictures=_count(db, "pictures"),
            scrub_pending=get_meta(db, "scrub") is not None,
        )


def check_gallery(gallery: Gallery) -> CheckReport:
    """Checks every page and every record; raises GalleryDamaged where SQLite cannot go on."""
    with gallery.reading() as db:
        faults = list(_structure(db))
        faults.extend(_records(db, gallery.protection))
        return CheckReport(
            people=_count(db, "people"),
            templates=_count(db, "templates"),
            pictures=_count(db, "pictures"),
            faults=tuple(faults),
        )


def _count(db: sqlite3.Connection, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - our names


def _structure(db: sqlite3.Connection) -> Iterator[Fault]:
    for (line,) in db.execute("PRAGMA integrity_check").fetchall():
        if line != "ok":
            yield Fault(f"database: {line}", "")
    for table, row, parent, _ in db.execute("PRAGMA foreign_key_check").fetchall():
        yield Fault(f"row {row} of {table} belongs to nobody in {parent}", "")


def _records(db: sqlite3.Connection, protection: Protection) -> Iterator[Fault]:
    for row, person_id, name, consent, details, access in db.execute(
        "SELECT row, id, name, consent, details, access FROM people"
    ).fetchall():
        yield from _opened(protection, name, rows.name_place(row, person_id))
        if consent is not None:
            yield from _opened(protection, consent, rows.consent_place(row, person_id))
        if details is not None:
            yield from _opened(protection, details, rows.details_place(row, person_id))
        if access is not None:
            yield from _opened(protection, access, access_place(row, person_id))
    for row, person_id, model_id, vector, picture in db.execute(
        "SELECT row, person_id, model_id, vector, picture FROM templates "
        "LEFT JOIN pictures ON template = row"
    ):
        place = rows.vector_place(row, person_id, model_id)
        try:
            Embedding(rows.open_vector(protection, vector, place), model_id)
        except EdgefacedError as error:
            yield Fault(error.message, person_id)
        if picture is not None:
            yield from _opened(protection, picture, rows.picture_place(row, person_id))


def _opened(protection: Protection, sealed: bytes, place: Place) -> Iterator[Fault]:
    try:
        protection.open(sealed, place)
    except EdgefacedError as error:
        yield Fault(error.message, place.person_id)
