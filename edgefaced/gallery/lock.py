"""How a gallery and its key belong together: starting, unlocking, and exchanging the key.

A new key is first laid beside the old one as a draft (`gallery.key.next`), then every record is
sealed anew and committed, then the draft takes the old key's place. Whatever moment the power
fails, one of the two files opens the gallery.
"""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import GalleryDamaged, KeyMissing, KeyWrong, StorageError
from edgefaced.gallery.database import Database, create
from edgefaced.gallery.protection import Protection
from edgefaced.storage import files, keyfile


@dataclass(frozen=True, slots=True)
class Lock:
    """A gallery's protection, and the record that shows whether its key is still the right one."""

    key_file: Path
    key_check: bytes
    protection: Protection
    from_draft: bool


def start(path: Path, key_file: Path) -> None:
    """A new, empty gallery where there is none; what an interrupted start left is swept."""
    with files.alone_in(path.parent):
        files.sweep(path)
        if key_file.name != keyfile.CREDENTIAL and key_file.parent.exists():
            files.sweep(key_file)
        if path.exists():
            return
        master = keyfile.read_or_create_key(key_file)
        gallery_id = secrets.token_bytes(16)

        def fill(db: sqlite3.Connection) -> None:
            set_key(db, gallery_id, Protection(master, gallery_id))

        create(path, fill)


def unlock(db: sqlite3.Connection, key_file: Path) -> Lock:
    """The key that opens this state of the gallery. Raises KeyMissing and KeyWrong."""
    gallery_id, key_check = get_meta(db, "gallery_id"), get_meta(db, "key_check")
    if gallery_id is None or key_check is None:
        raise GalleryDamaged("the gallery has no key check", "restore it from an export")
    try:
        protection = Protection(keyfile.read_key(key_file), gallery_id)
        protection.verify(key_check)
        return Lock(key_file, key_check, protection, from_draft=False)
    except (KeyMissing, KeyWrong):
        draft = draft_of(key_file)
        if not draft.exists():
            raise
        protection = Protection(keyfile.read_key(draft), gallery_id)
        protection.verify(key_check)
        return Lock(key_file, key_check, protection, from_draft=True)


def renewed(lock: Lock, db: sqlite3.Connection) -> Lock:
    """The same lock, or the one that fits after another process has exchanged the key."""
    if get_meta(db, "key_check") == lock.key_check:
        return lock
    return unlock(db, lock.key_file)


def draft_of(key_file: Path) -> Path:
    return key_file.with_name(f"{key_file.name}.next")


def settle_key(database: Database, key_file: Path) -> None:
    """Gives a draft that opens the gallery the key's place; removes one that does not.

    Under the write lock: no exchange of another process is half way then.
    """
    draft = draft_of(key_file)
    with database.writing() as db:
        try:
            if unlock(db, key_file).from_draft:
                draft.replace(key_file)
            else:
                draft.unlink(missing_ok=True)
            files.sync_folder(key_file.parent)
        except OSError as error:
            raise StorageError(f"{key_file} cannot be written: {error.strerror}") from error


def set_key(db: sqlite3.Connection, gallery_id: bytes, protection: Protection) -> None:
    """Records which key is right from this transaction on."""
    set_meta(db, "gallery_id", gallery_id)
    set_meta(db, "key_check", protection.key_check())


def mark_scrub(db: sqlite3.Connection) -> None:
    """Remembers, in the transaction that leaves remains, that they must be overwritten."""
    set_meta(db, "scrub", secrets.token_bytes(8))


def get_meta(db: sqlite3.Connection, key: str) -> bytes | None:
    found = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if found is None else bytes(found[0])


def set_meta(db: sqlite3.Connection, key: str, value: bytes) -> None:
    db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))
