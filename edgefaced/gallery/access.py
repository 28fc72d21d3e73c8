"""What a person may open: grants and a card number, sealed with them and gone with them."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass

from edgefaced.core.access import EVERYBODY_GROUP, Grant, Rights
from edgefaced.core.wiegand import LARGEST_CARD
from edgefaced.errors import UsageError
from edgefaced.gallery import rows
from edgefaced.gallery.lock import mark_scrub
from edgefaced.gallery.names import lookup_form
from edgefaced.gallery.protection import Place, Protection, damaged
from edgefaced.gallery.records import ChangeKind
from edgefaced.gallery.store import Gallery, not_enrolled


@dataclass(frozen=True, slots=True)
class DoorAccess:
    """Grants of one person's own, beside those of their groups; `card` is for Wiegand."""

    grants: tuple[Grant, ...] = ()
    card: int | None = None


def access_of(gallery: Gallery, person_id: str) -> DoorAccess:
    """Nothing where the person has nothing or is not enrolled. Raises GalleryDamaged."""
    with gallery.reading() as db:
        return read_access(db, gallery.protection, person_id)


def rights_of(gallery: Gallery, person_id: str) -> Rights:
    """Access and groups, as the rules of doors want them; group names in the form to compare.

    None at all where nobody enrolled has the id.
    """
    with gallery.reading() as db:
        if not rows.is_enrolled(db, person_id):
            return Rights()
        access = read_access(db, gallery.protection, person_id)
        groups = rows.details_of(db, gallery.protection, person_id).groups
    joined = (EVERYBODY_GROUP, *(lookup_form(group) for group in groups))
    return Rights(access.grants, joined, access.card)


def set_access(gallery: Gallery, person_id: str, access: DoorAccess) -> None:
    """Replaces what a person may open. Raises Refused where nobody has the id, UsageError."""
    checked_card(access.card)
    with gallery.writing() as db:
        if not rows.is_enrolled(db, person_id):
            raise not_enrolled(person_id)
        write_access(db, gallery.protection, person_id, access)
        rows.append_change(db, person_id, ChangeKind.DESCRIBED)
        mark_scrub(db)
    gallery.scrub()


def checked_card(card: int | None) -> int | None:
    """Raises UsageError for a number that no frame holds."""
    if card is not None and not 0 <= card <= LARGEST_CARD:
        raise UsageError(f"card number {card}", f"0 to {LARGEST_CARD}")
    return card


def access_place(row: int, person_id: str) -> Place:
    return Place("people.access", row, person_id)


def read_access(db: sqlite3.Connection, protection: Protection, person_id: str) -> DoorAccess:
    """Inside the caller's transaction."""
    found = db.execute("SELECT row, access FROM people WHERE id = ?", (person_id,)).fetchone()
    if found is None or found[1] is None:
        return DoorAccess()
    place = access_place(found[0], person_id)
    try:
        body = json.loads(protection.open(found[1], place))
        return DoorAccess(tuple(Grant(**grant) for grant in body["grants"]), body["card"])
    except (ValueError, KeyError, TypeError):
        raise damaged(place) from None


def write_access(
    db: sqlite3.Connection, protection: Protection, person_id: str, access: DoorAccess
) -> None:
    """Inside the caller's transaction; a person with nothing has no record."""
    row = rows.row_of(db, person_id)
    sealed = None
    if access != DoorAccess():
        body = {"grants": [asdict(grant) for grant in access.grants], "card": access.card}
        sealed = protection.seal(json.dumps(body).encode(), access_place(row, person_id))
    db.execute("UPDATE people SET access = ? WHERE row = ?", (sealed, row))
