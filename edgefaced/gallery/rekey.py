"""A new key for a gallery: every record sealed anew, in one transaction."""

from __future__ import annotations

import secrets
import sqlite3

from edgefaced.errors import GalleryError
from edgefaced.gallery import rows
from edgefaced.gallery.access import access_place
from edgefaced.gallery.lock import draft_of, mark_scrub, set_key, settle_key
from edgefaced.gallery.picture_keys import renew_picture_keys
from edgefaced.gallery.protection import Place, Protection
from edgefaced.gallery.store import Gallery
from edgefaced.storage import files, keyfile


def rotate_key(gallery: Gallery) -> bool:
    """Replaces the key; what the old one opened (backups, remains) it opens no more of this file.

    Running readers take over the new key by themselves. Returns whether nothing sealed with the
    old key is left in the files (else `scrub()` is pending). Raises GalleryError for a credential.
    """
    key_file = gallery.key_file
    if key_file.name == keyfile.CREDENTIAL:
        raise GalleryError(
            "the key is a systemd credential, which only its owner can change",
            "`edgefaced gallery export`, provide another credential, and import into a new gallery",
        )
    settle_key(gallery.database, key_file)
    master, gallery_id = secrets.token_bytes(keyfile.KEY_BYTES), secrets.token_bytes(16)
    with gallery.writing() as db:
        with files.alone_in(gallery.database.path.parent):
            files.sweep(key_file)
            published = files.publish(draft_of(key_file), master)
        if not published:
            raise GalleryError("another process is exchanging the key", "try again")
        new = Protection(master, gallery_id)
        _seal_people(db, gallery.protection, new)
        _seal_templates(db, gallery.protection, new)
        renew_picture_keys(db, gallery.protection, new)
        set_key(db, gallery_id, new)
        mark_scrub(db)
    settle_key(gallery.database, key_file)
    return gallery.scrub()


def _seal_people(db: sqlite3.Connection, old: Protection, new: Protection) -> None:
    people = db.execute("SELECT row, id, name, consent, details, access FROM people").fetchall()
    for row, person_id, sealed_name, sealed_consent, sealed_details, sealed_access in people:
        place = rows.name_place(row, person_id)
        name = old.open(sealed_name, place)
        consent = details = access = None
        if sealed_consent is not None:
            consent = _moved(sealed_consent, rows.consent_place(row, person_id), old, new)
        if sealed_details is not None:
            details = _moved(sealed_details, rows.details_place(row, person_id), old, new)
        if sealed_access is not None:
            access = _moved(sealed_access, access_place(row, person_id), old, new)
        db.execute(
            "UPDATE people SET name = ?, name_lookup = ?, consent = ?, details = ?, access = ? "
            "WHERE row = ?",
            (new.seal(name, place), new.name_lookup(name.decode()), consent, details, access, row),
        )


def _seal_templates(db: sqlite3.Connection, old: Protection, new: Protection) -> None:
    owners: dict[int, str] = {}
    templates = db.execute("SELECT row, person_id, model_id, vector FROM templates").fetchall()
    for row, person_id, model_id, sealed in templates:
        owners[row] = person_id
        moved = _moved(sealed, rows.vector_place(row, person_id, model_id), old, new)
        db.execute("UPDATE templates SET vector = ? WHERE row = ?", (moved, row))
    for (row,) in db.execute("SELECT template FROM pictures").fetchall():
        (sealed,) = db.execute("SELECT picture FROM pictures WHERE template = ?", (row,)).fetchone()
        moved = _moved(sealed, rows.picture_place(row, owners[row]), old, new)
        db.execute("UPDATE pictures SET picture = ? WHERE template = ?", (moved, row))


def _moved(sealed: bytes, place: Place, old: Protection, new: Protection) -> bytes:
    return new.seal(old.open(sealed, place), place)
