"""The SQL of the gallery's records: each function works inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np

from edgefaced.errors import EmbeddingError
from edgefaced.gallery.protection import SEAL_BYTES, Place, Protection, damaged
from edgefaced.gallery.records import (
    Change,
    ChangeKind,
    Changes,
    Consent,
    Details,
    NewTemplate,
    Person,
    StoredTemplate,
)
from edgefaced.types import F32, Embedding

KEPT_CHANGES = 1000
"""A reader that is further behind than this loads everything again."""

_VECTOR = np.dtype("<f4")


def name_place(row: int, person_id: str) -> Place:
    return Place("people.name", row, person_id)


def consent_place(row: int, person_id: str) -> Place:
    return Place("people.consent", row, person_id)


def details_place(row: int, person_id: str) -> Place:
    return Place("people.details", row, person_id)


def vector_place(row: int, person_id: str, model_id: str) -> Place:
    return Place("templates.vector", row, person_id, model_id)


def picture_place(row: int, person_id: str) -> Place:
    return Place("pictures.picture", row, person_id)


def insert_person(
    db: sqlite3.Connection, protection: Protection, person_id: str, name: str, enrolled_at: datetime
) -> None:
    """A person without templates; the name must be free."""
    row = _next_row(db, "people")
    db.execute(
        "INSERT INTO people (row, id, name, name_lookup, enrolled_at) VALUES (?, ?, ?, ?, ?)",
        (
            row,
            person_id,
            protection.seal(name.encode(), name_place(row, person_id)),
            protection.name_lookup(name),
            time_text(enrolled_at),
        ),
    )


def set_name(db: sqlite3.Connection, protection: Protection, person_id: str, name: str) -> None:
    row = row_of(db, person_id)
    db.execute(
        "UPDATE people SET name = ?, name_lookup = ? WHERE row = ?",
        (
            protection.seal(name.encode(), name_place(row, person_id)),
            protection.name_lookup(name),
            row,
        ),
    )


def set_consent(
    db: sqlite3.Connection, protection: Protection, person_id: str, consent: Consent
) -> None:
    row = row_of(db, person_id)
    text = json.dumps({"note": consent.note, "at": time_text(consent.at)})
    sealed = protection.seal(text.encode(), consent_place(row, person_id))
    db.execute("UPDATE people SET consent = ? WHERE row = ?", (sealed, row))


def set_details(
    db: sqlite3.Connection, protection: Protection, person_id: str, details: Details
) -> None:
    row = row_of(db, person_id)
    text = json.dumps({"external_id": details.external_id, "groups": details.groups})
    sealed = protection.seal(text.encode(), details_place(row, person_id))
    db.execute("UPDATE people SET details = ? WHERE row = ?", (sealed, row))


def insert_templates(
    db: sqlite3.Connection,
    protection: Protection,
    person_id: str,
    templates: Sequence[NewTemplate],
    added_at: datetime,
) -> None:
    """Raises EmbeddingError where the model's other templates have another dimension."""
    for template in templates:
        vector, model_id = template.embedding.vector, template.embedding.model_id
        row = _next_row(db, "templates")
        sealed = protection.seal(
            vector.astype(_VECTOR).tobytes(), vector_place(row, person_id, model_id)
        )
        other = db.execute(
            "SELECT length(vector) FROM templates WHERE model_id = ? LIMIT 1", (model_id,)
        ).fetchone()
        if other is not None and other[0] != len(sealed):
            raise EmbeddingError(
                f"an embedding of {vector.size} numbers, but the gallery's templates of "
                f"{model_id} have {vector.size + (other[0] - len(sealed)) // _VECTOR.itemsize}"
            )
        db.execute(
            "INSERT INTO templates (row, person_id, model_id, vector, added_at) "
            "VALUES (?, ?, ?, ?, ?)",
            (row, person_id, model_id, sealed, time_text(added_at)),
        )
        if template.picture_png is not None:
            db.execute(
                "INSERT INTO pictures (template, picture) VALUES (?, ?)",
                (row, protection.seal(template.picture_png, picture_place(row, person_id))),
            )


def row_of(db: sqlite3.Connection, person_id: str) -> int:
    (row,) = db.execute("SELECT row FROM people WHERE id = ?", (person_id,)).fetchone()
    return int(row)


def is_enrolled(db: sqlite3.Connection, person_id: str) -> bool:
    return db.execute("SELECT 1 FROM people WHERE id = ?", (person_id,)).fetchone() is not None


def id_of(db: sqlite3.Connection, protection: Protection, name_or_id: str) -> str | None:
    """Id of the person with this id or name; decrypts nothing, so it works on damaged records."""
    if any("\ud800" <= c <= "\udfff" for c in name_or_id):
        return None  # bytes of a command line that are no text: nobody has such a name
    found = db.execute(
        "SELECT id FROM people WHERE id = ? OR name_lookup = ?",
        (name_or_id, protection.name_lookup(name_or_id)),
    ).fetchone()
    return None if found is None else str(found[0])


def people(
    db: sqlite3.Connection, protection: Protection, person_id: str | None = None
) -> list[Person]:
    """Everybody, or the one person; in order of enrolment."""
    only, arguments = ("", ()) if person_id is None else ("WHERE id = ?", (person_id,))
    counts: dict[str, dict[str, int]] = {}
    for owner, model_id, count in db.execute(
        f"SELECT person_id, model_id, count(*) FROM templates {only.replace('id', 'person_id')} "  # noqa: S608 - fixed text
        "GROUP BY person_id, model_id ORDER BY model_id",
        arguments,
    ).fetchall():
        counts.setdefault(owner, {})[model_id] = count
    rows = db.execute(
        f"SELECT row, id, name, consent, enrolled_at, details FROM people {only} ORDER BY row",  # noqa: S608 - fixed text
        arguments,
    ).fetchall()
    return [
        Person(
            id=owner,
            name=protection.open(name, name_place(row, owner)).decode(),
            templates=sum(counts.get(owner, {}).values()),
            model_ids=tuple(counts.get(owner, {})),
            enrolled_at=read_time(enrolled_at, name_place(row, owner)),
            consent=None if consent is None else _consent(protection, consent, row, owner),
            details=_details(protection, details, row, owner),
        )
        for row, owner, name, consent, enrolled_at, details in rows
    ]


def name_of(db: sqlite3.Connection, protection: Protection, person_id: str) -> str | None:
    found = db.execute("SELECT row, name FROM people WHERE id = ?", (person_id,)).fetchone()
    if found is None:
        return None
    row, name = found
    return protection.open(name, name_place(row, person_id)).decode()


def stored_templates(
    db: sqlite3.Connection, protection: Protection, person_id: str | None = None
) -> Iterator[StoredTemplate]:
    """Every template with its picture, of everybody or of one person."""
    only, arguments = ("", ()) if person_id is None else ("WHERE person_id = ?", (person_id,))
    rows = db.execute(
        "SELECT row, person_id, model_id, vector, added_at, picture FROM templates "  # noqa: S608 - fixed text
        f"LEFT JOIN pictures ON template = row {only} ORDER BY row",
        arguments,
    )
    for row, owner, model_id, sealed, added_at, picture in rows.fetchall():
        place = vector_place(row, owner, model_id)
        yield StoredTemplate(
            person_id=owner,
            embedding=Embedding(open_vector(protection, sealed, place), model_id),
            added_at=read_time(added_at, place),
            picture_png=None
            if picture is None
            else protection.open(picture, picture_place(row, owner)),
        )


def open_vector(protection: Protection, sealed: bytes, place: Place) -> F32:
    """One vector in memory of its own."""
    vector: F32 = open_vectors(protection, [(sealed, place)])[0]
    return vector


def open_vectors(protection: Protection, records: Sequence[tuple[bytes, Place]]) -> F32:
    """Vectors of one size as a matrix; no other copy of them is left in memory."""
    if not records:
        return np.empty((0, 0), np.float32)
    size, rest = divmod(len(records[0][0]) - SEAL_BYTES, _VECTOR.itemsize)
    if size < 1 or rest:
        raise damaged(records[0][1])
    vectors = np.empty((len(records), size), _VECTOR)
    for vector, (sealed, place) in zip(vectors, records, strict=True):
        if len(sealed) != vector.nbytes + SEAL_BYTES:
            raise damaged(place)
        protection.open_into(sealed, place, vector.data.cast("B"))
    # On the machines we run on this is the same memory; elsewhere the bytes change places.
    native: F32 = vectors.astype(np.float32, copy=False)
    return native


def append_change(db: sqlite3.Connection, person_id: str, kind: ChangeKind) -> None:
    """Tells running readers; called once for each person that a transaction touches."""
    db.execute("INSERT INTO changes (person_id, kind) VALUES (?, ?)", (person_id, kind.value))
    db.execute("DELETE FROM changes WHERE revision <= ?", (revision(db) - KEPT_CHANGES,))


def revision(db: sqlite3.Connection) -> int:
    """Number of the last change; 0 in a new gallery."""
    return _last_row(db, "changes")


def changes_since(db: sqlite3.Connection, since: int) -> Changes:
    last = revision(db)
    rows = db.execute(
        "SELECT revision, person_id, kind FROM changes WHERE revision > ? ORDER BY revision",
        (since,),
    ).fetchall()
    items = tuple(Change(number, owner, ChangeKind(kind)) for number, owner, kind in rows)
    return Changes(items, last, complete=len(items) == last - since)


def time_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def read_time(text: str, place: Place) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise damaged(place) from None


def _consent(protection: Protection, sealed: bytes, row: int, person_id: str) -> Consent:
    place = consent_place(row, person_id)
    fields = json.loads(protection.open(sealed, place))
    return Consent(fields["note"], read_time(fields["at"], place))


def details_of(db: sqlite3.Connection, protection: Protection, person_id: str) -> Details:
    """Nothing but defaults where the person has none or is not enrolled."""
    found = db.execute("SELECT row, details FROM people WHERE id = ?", (person_id,)).fetchone()
    return Details() if found is None else _details(protection, found[1], found[0], person_id)


def _details(protection: Protection, sealed: bytes | None, row: int, person_id: str) -> Details:
    if sealed is None:
        return Details()
    fields = json.loads(protection.open(sealed, details_place(row, person_id)))
    return Details(fields["external_id"], tuple(fields["groups"]))


def _last_row(db: sqlite3.Connection, table: str) -> int:
    found = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 0 if found is None else int(found[0])


def _next_row(db: sqlite3.Connection, table: str) -> int:
    """AUTOINCREMENT's next number: known before the insert, as the ciphertext is bound to it."""
    return _last_row(db, table) + 1
