"""A key: 32 random bytes in a file of their own; the gallery's may be a systemd credential."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from edgefaced.errors import GalleryError, KeyMissing, KeyWrong, StorageError
from edgefaced.storage.files import publish

KEY_BYTES = 32
CREDENTIAL = "edgefaced-gallery-key"


def read_key(path: Path, of: str = "gallery") -> bytes:
    """The 32 bytes of a key file that nobody else can read; `of` says what the key is for.

    Raises KeyMissing, KeyWrong for another size, GalleryError for an open mode, StorageError.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            key = file.read(KEY_BYTES + 1)
    except FileNotFoundError:
        raise KeyMissing(f"the {of}'s key {path} is missing", _way_to(path, of)) from None
    except OSError as error:
        raise StorageError(f"the {of}'s key {path}: {error.strerror}") from error
    # systemd grants a credential to the unit's user by an ACL, whose mask shows as group bits.
    if mode & (0o007 if path.name == CREDENTIAL else 0o077):
        raise GalleryError(
            f"the {of}'s key {path} is open to others (mode {mode:04o})", f"chmod 600 {path}"
        )
    if len(key) != KEY_BYTES:
        size = f"{len(key)} bytes" if len(key) < KEY_BYTES else f"more than {KEY_BYTES} bytes"
        raise KeyWrong(f"the {of}'s key {path} has {size}, not {KEY_BYTES}")
    return key


def _way_to(path: Path, of: str) -> str:
    if path.name == CREDENTIAL:
        return "systemd provides it while the service runs: `systemctl start edgefaced`"
    elsewhere = "; EDGEFACED_KEY_FILE names one elsewhere" if of == "gallery" else ""
    return f"restore the key file: without it nobody can read the {of}{elsewhere}"


def read_or_create_key(path: Path, of: str = "gallery") -> bytes:
    """A new gallery's key, or of what else `of` says: the one that is there, else a random one.

    The file appears whole or not at all, and of several processes exactly one creates it.
    """
    if not path.exists():
        if path.name == CREDENTIAL:
            raise KeyMissing(f"the credential {path} is missing", _way_to(path, of))
        publish(path, secrets.token_bytes(KEY_BYTES))
    return read_key(path, of)
