"""Encryption of the gallery's records: AES-256-GCM, each bound to the place where it lies."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from edgefaced.errors import GalleryDamaged, KeyWrong, RecordDamaged
from edgefaced.gallery.names import lookup_form

NONCE_BYTES = 12
TAG_BYTES = 16
SEAL_BYTES = NONCE_BYTES + TAG_BYTES
"""How much longer a sealed record is than its plain text."""

_CHECK = b"edgefaced gallery key"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a ciphertext belongs. Moved to another row, person, model or column it is damaged."""

    column: str
    row: int
    person_id: str = ""
    model_id: str = ""

    def associated_data(self) -> bytes:
        return json.dumps(
            ["edgefaced", 1, self.column, self.row, self.person_id, self.model_id]
        ).encode()


KEY_CHECK = Place("meta.key_check", 0)


def subkey(master: bytes, salt: bytes, purpose: str) -> bytes:
    """A 32-byte key for one purpose (HKDF-SHA256); no key serves two purposes."""
    info = f"edgefaced gallery 1 {purpose}".encode()
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=salt, info=info).derive(master)


class Protection:
    """Seals and opens the records of one gallery; holds the subkeys, not the master key."""

    __slots__ = ("_cipher", "_name_key")

    def __init__(self, master: bytes, gallery_id: bytes) -> None:
        self._cipher = AESGCM(subkey(master, gallery_id, "encrypt"))
        self._name_key = subkey(master, gallery_id, "name-lookup")

    def seal(self, plain: bytes, place: Place) -> bytes:
        """Nonce, ciphertext and tag: 28 bytes longer than the plain text."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, place.associated_data())

    def open(self, sealed: bytes, place: Place) -> bytes:
        """The plain text; raises GalleryDamaged naming the row where anything was altered."""
        nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            if len(rest) < TAG_BYTES:
                raise InvalidTag
            return self._cipher.decrypt(nonce, rest, place.associated_data())
        except InvalidTag:
            raise damaged(place) from None

    def open_into(self, sealed: bytes, place: Place, plain: memoryview) -> None:
        """As `open`, into memory of the caller's, who can overwrite it; no other copy is made."""
        try:
            self._cipher.decrypt_into(
                sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place.associated_data(), plain
            )
        except InvalidTag:
            raise damaged(place) from None

    def name_lookup(self, name: str) -> bytes:
        """A keyed digest under which a name is found without decrypting the others."""
        digest = hmac.HMAC(self._name_key, hashes.SHA256())
        digest.update(lookup_form(name).encode())
        return digest.finalize()

    def key_check(self) -> bytes:
        """A record that only this key opens."""
        return self.seal(_CHECK, KEY_CHECK)

    def verify(self, key_check: bytes) -> None:
        """Raises KeyWrong where the record was made with another key."""
        try:
            self.open(key_check, KEY_CHECK)
        except GalleryDamaged:
            raise KeyWrong(
                "the key does not open this gallery", "restore the key file made with the gallery"
            ) from None


def damaged(place: Place) -> RecordDamaged:
    """The error for a record whose bytes are not what was written there."""
    return RecordDamaged(
        f"row {place.row} of {place.column} is damaged or was altered",
        "`edgefaced gallery check` lists damaged records and whose they are",
    )
