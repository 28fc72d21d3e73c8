"""Export and import: people with everything that is known of them, all or nothing."""

from __future__ import annotations

import sqlite3
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

import numpy as np
from pydantic import AwareDatetime, Base64Bytes, BaseModel, ConfigDict, Field, ValidationError

from edgefaced.core.access import Grant
from edgefaced.errors import EdgefacedError, GalleryDamaged, Refused
from edgefaced.gallery import rows
from edgefaced.gallery.access import DoorAccess, checked_card, read_access, write_access
from edgefaced.gallery.exchange import open_file, seal_file
from edgefaced.gallery.lock import mark_scrub
from edgefaced.gallery.names import (
    checked_external_id,
    checked_groups,
    checked_name,
    checked_note,
    lookup_form,
)
from edgefaced.gallery.records import ChangeKind, Consent, Details, NewTemplate
from edgefaced.gallery.store import Gallery, refuse_other_models
from edgefaced.types import Embedding

Conflicts = Literal["refuse", "replace", "skip"]

MOST_NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Names of the people who came in, and of those the conflicts were about."""

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    skipped: tuple[str, ...]
    scrubbed: bool


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Template(_Strict):
    model_id: Annotated[str, Field(min_length=1, max_length=200)]
    vector: Base64Bytes
    added_at: AwareDatetime
    picture_png: Base64Bytes | None = None


class _Consent(_Strict):
    note: str
    at: AwareDatetime


class _Details(_Strict):
    external_id: str | None = None
    groups: tuple[str, ...] = ()


class _Grant(_Strict):
    door: str
    schedule: str | None = None
    first_day: int | None = None
    last_day: int | None = None


class _Access(_Strict):
    grants: tuple[_Grant, ...] = ()
    card: int | None = None


class _Person(_Strict):
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    name: str
    enrolled_at: AwareDatetime
    consent: _Consent | None = None
    details: _Details | None = None
    access: _Access | None = None
    templates: tuple[_Template, ...]


class _Export(_Strict):
    people: tuple[_Person, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A person of an export file, checked as thoroughly as one who is enrolled here."""

    id: str
    name: str
    enrolled_at: datetime
    consent: Consent | None
    details: Details
    access: DoorAccess
    templates: tuple[tuple[NewTemplate, datetime], ...]


def export_gallery(gallery: Gallery, passphrase: str) -> bytes:
    """Everybody, with templates, consent and kept pictures, sealed under the passphrase."""
    return seal_file(pack(gallery), passphrase)


def open_export(content: bytes, passphrase: str, where: str) -> list[Arrival]:
    """The people of an export file, `where` naming it in errors. Raises what `open_file` raises."""
    return unpack(open_file(content, passphrase, where), where)


def pack(gallery: Gallery) -> bytes:
    """The payload of an export file: JSON, in clear."""
    templates: dict[str, list[_Template]] = {}
    with gallery.reading() as db:
        people = rows.people(db, gallery.protection)
        access = {p.id: read_access(db, gallery.protection, p.id) for p in people}
        for stored in rows.stored_templates(db, gallery.protection):
            vector = stored.embedding.vector.astype("<f4").tobytes()
            template = _Template(
                model_id=stored.embedding.model_id,
                vector=b64encode(vector),
                added_at=stored.added_at,
                picture_png=stored.picture_png and b64encode(stored.picture_png),
            )
            templates.setdefault(stored.person_id, []).append(template)
    export = _Export(
        people=tuple(
            _Person(
                id=person.id,
                name=person.name,
                enrolled_at=person.enrolled_at,
                consent=_outgoing(person.consent),
                details=_outgoing_details(person.details),
                access=_outgoing_access(access[person.id]),
                templates=tuple(templates.get(person.id, ())),
            )
            for person in people
        )
    )
    # What is absent is left out: an older edgefaced reads a file without details.
    return export.model_dump_json(exclude_none=True).encode()


def unpack(payload: bytes, where: str) -> list[Arrival]:
    """The people of a payload, each checked. Raises GalleryDamaged naming what is off."""
    try:
        export = _Export.model_validate_json(payload)
        arrivals = [_arrival(person) for person in export.people]
    except ValidationError as error:
        key = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise GalleryDamaged(f"{where}: {key} is not as it should be") from None
    except EdgefacedError as error:
        raise GalleryDamaged(f"{where}: {error.message}") from None
    ids = {arrival.id for arrival in arrivals}
    names = {lookup_form(arrival.name) for arrival in arrivals}
    if not len(ids) == len(names) == len(arrivals):
        raise GalleryDamaged(f"{where} holds a person twice")
    return arrivals


def import_gallery(
    gallery: Gallery, arrivals: Sequence[Arrival], conflicts: Conflicts = "refuse"
) -> ImportReport:
    """Takes over the people of an export file in one transaction.

    A conflict is a name or an id that is enrolled here. Raises Refused for one unless told to
    replace or skip, and ModelMismatch for templates of another model.
    """
    with gallery.writing() as db:
        enrolled = {a.id: _enrolled_already(db, gallery, a) for a in arrivals}
        meeting = [a.name for a in arrivals if enrolled[a.id]]
        if meeting and conflicts == "refuse":
            shown = ", ".join(meeting[:MOST_NAMES_SHOWN])
            more = len(meeting) - MOST_NAMES_SHOWN
            raise Refused(
                f"already enrolled: {shown}" + (f" and {more} more" if more > 0 else ""),
                "nothing was imported; choose --replace or --skip",
            )
        coming = [a for a in arrivals if conflicts == "replace" or not enrolled[a.id]]
        # Everybody who makes room goes first: one arrival may have the name, another the id.
        for person_id in sorted(set[str]().union(*(enrolled[a.id] for a in coming))):
            db.execute("DELETE FROM people WHERE id = ?", (person_id,))
            rows.append_change(db, person_id, ChangeKind.REMOVED)
            mark_scrub(db)
        for arrival in coming:
            _insert(db, gallery, arrival)
        for model_id in {t.embedding.model_id for a in coming for t, _ in a.templates}:
            refuse_other_models(db, model_id)
    scrubbed = gallery.scrub(only_if_pending=True)
    return ImportReport(
        added=tuple(a.name for a in coming if not enrolled[a.id]),
        replaced=tuple(a.name for a in coming if enrolled[a.id]),
        skipped=tuple(a.name for a in arrivals if enrolled[a.id] and conflicts == "skip"),
        scrubbed=scrubbed,
    )


def _outgoing(consent: Consent | None) -> _Consent | None:
    return None if consent is None else _Consent(note=consent.note, at=consent.at)


def _outgoing_details(details: Details) -> _Details | None:
    if details == Details():
        return None
    return _Details(external_id=details.external_id, groups=details.groups)


def _outgoing_access(access: DoorAccess) -> _Access | None:
    if access == DoorAccess():
        return None
    return _Access(grants=tuple(_Grant(**asdict(g)) for g in access.grants), card=access.card)


def _enrolled_already(db: sqlite3.Connection, gallery: Gallery, arrival: Arrival) -> set[str]:
    """Ids of the people here who have the arrival's name or id: none, one or two."""
    found = (
        rows.id_of(db, gallery.protection, arrival.name),
        rows.id_of(db, gallery.protection, arrival.id),
    )
    return {person_id for person_id in found if person_id is not None}


def _insert(db: sqlite3.Connection, gallery: Gallery, arrival: Arrival) -> None:
    protection = gallery.protection
    rows.insert_person(db, protection, arrival.id, arrival.name, arrival.enrolled_at)
    if arrival.consent is not None:
        rows.set_consent(db, protection, arrival.id, arrival.consent)
    if arrival.details != Details():
        rows.set_details(db, protection, arrival.id, arrival.details)
    write_access(db, protection, arrival.id, arrival.access)
    for template, added_at in arrival.templates:
        rows.insert_templates(db, protection, arrival.id, (template,), added_at)
    rows.append_change(db, arrival.id, ChangeKind.ENROLLED)


def _arrival(person: _Person) -> Arrival:
    consent = None
    if person.consent is not None:
        consent = Consent(checked_note(person.consent.note), person.consent.at.astimezone(UTC))
    details = Details()
    if person.details is not None:
        external_id, groups = person.details.external_id, checked_groups(person.details.groups)
        details = Details(external_id and checked_external_id(external_id), groups)
    access = DoorAccess()
    if person.access is not None:
        grants = tuple(Grant(**grant.model_dump()) for grant in person.access.grants)
        access = DoorAccess(grants, checked_card(person.access.card))
    return Arrival(
        id=person.id,
        name=checked_name(person.name),
        enrolled_at=person.enrolled_at,
        consent=consent,
        details=details,
        access=access,
        templates=tuple((_template(t), t.added_at) for t in person.templates),
    )


def _template(template: _Template) -> NewTemplate:
    if len(template.vector) % 4:
        raise GalleryDamaged("a template is cut off")
    vector = np.frombuffer(template.vector, "<f4").astype(np.float32)
    return NewTemplate(Embedding(vector, template.model_id), template.picture_png)
