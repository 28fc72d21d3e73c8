"""The arithmetic of the chain: what a record's digest covers, and what only the key can make.

    content  = SHA-256(salt, body)                  the salt goes with the body when it is redacted,
                                                    so that nobody can guess the body afterwards
    digest   = SHA-256(digest before, position, content)

Anybody can follow the chain. Seals are HMACs with the ledger's key: of the head, so that whoever
rewrites the chain or cuts it off must have the key, and of whatever was left out on purpose.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets

SALT_BYTES = 16


def genesis(ledger_id: bytes) -> bytes:
    """What stands for the digest before the first record; records of another ledger do not fit."""
    return hashlib.sha256(b"edgefaced ledger 1\0" + ledger_id).digest()


def new_salt() -> bytes:
    return secrets.token_bytes(SALT_BYTES)


def content_of(salt: bytes, body: bytes) -> bytes:
    """The digest of a body; the salt has a fixed length."""
    return hashlib.sha256(salt + body).digest()


def digest_of(before: bytes, position: int, content: bytes) -> bytes:
    """The digest of a record at its place in the chain."""
    return hashlib.sha256(before + position.to_bytes(8, "big") + content).digest()


class Seals:
    """Makes and checks seals; without a key it makes none, and none is right."""

    __slots__ = ("_key", "ledger_id")

    def __init__(self, key: bytes | None, ledger_id: bytes) -> None:
        self._key = key
        self.ledger_id = ledger_id

    @property
    def possible(self) -> bool:
        """Whether there is a key."""
        return self._key is not None

    def check(self) -> bytes | None:
        """Shows at a later opening whether the key is still this one."""
        return self._make("check")

    def head(self, position: int, digest: bytes) -> bytes | None:
        """The ledger ends here."""
        return self._make("head", position, digest)

    def gap(self, first: int, last: int, digest: bytes) -> bytes | None:
        """These records were purged; the last of them had this digest."""
        return self._make("gap", first, last, digest)

    def redaction(self, position: int, digest: bytes) -> bytes | None:
        """This record's body was taken away."""
        return self._make("redaction", position, digest)

    def mark(self, boot_id: str, monotonic_ns: int, utc_us: int, offset: int) -> bytes | None:
        """The wall clock was right in this boot."""
        return self._make("mark", boot_id, monotonic_ns, utc_us, offset)

    def _make(self, purpose: str, *parts: bytes | int | str) -> bytes | None:
        if self._key is None:
            return None
        plain = [part.hex() if isinstance(part, bytes) else part for part in parts]
        text = json.dumps(["edgefaced ledger", 1, purpose, self.ledger_id.hex(), *plain])
        return hmac.digest(self._key, text.encode(), "sha256")


def same(seal: bytes | None, wanted: bytes | None) -> bool:
    """Whether a seal is the wanted one; False where there is none."""
    return seal is not None and wanted is not None and hmac.compare_digest(seal, wanted)
