"""Keys for pictures of events: random ones, sealed in the gallery, so that its key opens them all.

Each is sealed anew with the gallery's next key. What comes afterwards gets another one: an old copy
of the gallery with its old key opens no picture of a later day.
"""

from __future__ import annotations

import json
import secrets
import sqlite3

from edgefaced.gallery.lock import get_meta, set_meta
from edgefaced.gallery.protection import Place, Protection, damaged
from edgefaced.gallery.store import Gallery
from edgefaced.storage.keyfile import KEY_BYTES

META = "picture_keys"
PLACE = Place("meta.picture_keys", 0)


def picture_keys(gallery: Gallery) -> tuple[bytes, ...]:
    """The keys in the order in which they came; none before the first picture."""
    with gallery.reading() as db:
        return _read(db, gallery.protection)


def picture_keys_or_first(gallery: Gallery) -> tuple[bytes, ...]:
    """As `picture_keys`, with one at least. Raises StorageError where the gallery is read-only."""
    keys = picture_keys(gallery)
    if not keys:
        with gallery.writing() as db:
            keys = _read(db, gallery.protection)
            if not keys:
                keys = (secrets.token_bytes(KEY_BYTES),)
                _write(db, gallery.protection, keys)
    return keys


def renew_picture_keys(db: sqlite3.Connection, old: Protection, new: Protection) -> None:
    """Seals them with the gallery's new key, and adds one; inside that transaction."""
    keys = _read(db, old)
    if keys:
        _write(db, new, (*keys, secrets.token_bytes(KEY_BYTES)))


def _read(db: sqlite3.Connection, protection: Protection) -> tuple[bytes, ...]:
    sealed = get_meta(db, META)
    if sealed is None:
        return ()
    try:
        return tuple(bytes.fromhex(key) for key in json.loads(protection.open(sealed, PLACE)))
    except (ValueError, TypeError):
        raise damaged(PLACE) from None


def _write(db: sqlite3.Connection, protection: Protection, keys: tuple[bytes, ...]) -> None:
    body = json.dumps([key.hex() for key in keys]).encode()
    set_meta(db, META, protection.seal(body, PLACE))
