"""Calibration sets under a passphrase: they are pictures of people.

offset  bytes
0       8      "EFCALSET"
8       1      log2 of scrypt's N
9       16     salt
25      12     nonce
37             AES-256-GCM ciphertext and tag; the 37 bytes before are its associated data
"""

from __future__ import annotations

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from edgefaced.errors import UsageError

MAGIC = b"EFCALSET"
LOG2_N, LARGEST_LOG2_N = 16, 20
BLOCK, LANES = 8, 2
SHORTEST_PASSPHRASE = 8
HEADER_BYTES = 37


def is_sealed(content: bytes) -> bool:
    return content.startswith(MAGIC)


def seal(payload: bytes, passphrase: str, *, log2_n: int = LOG2_N) -> bytes:
    """Raises UsageError for a passphrase that is too short."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise UsageError(f"a passphrase has {SHORTEST_PASSPHRASE} characters at least")
    salt, nonce = secrets.token_bytes(16), secrets.token_bytes(12)
    header = MAGIC + bytes([log2_n]) + salt + nonce
    return header + AESGCM(_key(passphrase, salt, log2_n)).encrypt(nonce, payload, header)


def unseal(content: bytes, passphrase: str, where: str) -> bytes:
    """Raises UsageError for a wrong passphrase or an altered file: the two cannot be told apart."""
    header, log2_n = content[:HEADER_BYTES], content[8] if len(content) > HEADER_BYTES else 0
    # What comes from outside must not make us allocate gigabytes.
    if not is_sealed(content) or not 1 <= log2_n <= LARGEST_LOG2_N:
        raise UsageError(f"{where} is no sealed calibration set", "copy it again")
    key = _key(passphrase, header[9:25], log2_n)
    try:
        return AESGCM(key).decrypt(header[25:37], content[HEADER_BYTES:], header)
    except InvalidTag:
        raise UsageError(f"{where}: wrong passphrase, or the file was altered") from None


def _key(passphrase: str, salt: bytes, log2_n: int) -> bytes:
    return Scrypt(salt=salt, length=32, n=2**log2_n, r=BLOCK, p=LANES).derive(passphrase.encode())
