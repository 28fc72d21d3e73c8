"""The file a gallery travels in: versioned, sealed under a passphrase.

offset  bytes
0       8      "EFGALLRY"
8       2      version (big endian)
10      1      scrypt: log2 of N
11      1      scrypt: r
12      1      scrypt: p
13      16     scrypt: salt
29      16     passphrase check: tells a wrong passphrase from a damaged file
45      12     nonce
57      8      length of what follows
65             AES-256-GCM ciphertext and tag; the 65 bytes before are its associated data
"""

from __future__ import annotations

import secrets
import struct
from hmac import compare_digest

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from edgefaced.errors import GalleryDamaged, GalleryTooNew, KeyWrong, UsageError
from edgefaced.gallery.protection import subkey

MAGIC = b"EFGALLRY"
VERSION = 1
SHORTEST_PASSPHRASE = 8
LARGEST_BYTES = 2**30

LOG2_N, BLOCK, LANES = 16, 8, 2
"""64 MiB and about half a second on a small board."""

_HEADER = struct.Struct(">8sHBBB16s16s12sQ")


def seal_file(payload: bytes, passphrase: str, *, log2_n: int = LOG2_N) -> bytes:
    """The bytes of an export file. Raises UsageError for a passphrase that is too short."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise UsageError(f"a passphrase has {SHORTEST_PASSPHRASE} characters at least")
    salt, nonce = secrets.token_bytes(16), secrets.token_bytes(12)
    key, check = _keys(passphrase, salt, log2_n, BLOCK, LANES)
    length = len(payload) + 16
    header = _HEADER.pack(MAGIC, VERSION, log2_n, BLOCK, LANES, salt, check, nonce, length)
    return header + AESGCM(key).encrypt(nonce, payload, header)


def open_file(content: bytes, passphrase: str, where: str) -> bytes:
    """The payload of an export file; `where` names it in errors.

    Raises GalleryDamaged for what is no export, cut off or altered, GalleryTooNew, KeyWrong.
    """
    if not content.startswith(MAGIC[: max(len(content), 1)]):
        raise GalleryDamaged(f"{where} is not an exported gallery")
    if len(content) < _HEADER.size:
        raise GalleryDamaged(f"{where} is cut off: {len(content)} bytes", "copy it again")
    fields = _HEADER.unpack_from(content)
    _, version, log2_n, block, lanes, salt, check, nonce, length = fields
    if version != VERSION:
        raise GalleryTooNew(
            f"{where} has version {version}; this edgefaced reads version {VERSION}",
            "update edgefaced",
        )
    # Parameters from outside must not make us allocate gigabytes.
    if not (10 <= log2_n <= 20 and 1 <= block <= 16 and 1 <= lanes <= 16):
        raise GalleryDamaged(f"{where} asks for an unreasonable key derivation", "copy it again")
    if len(content) - _HEADER.size != length:
        raise GalleryDamaged(
            f"{where} is cut off: {len(content)} bytes of {_HEADER.size + length}", "copy it again"
        )
    key, expected = _keys(passphrase, salt, log2_n, block, lanes)
    if not compare_digest(check, expected):
        raise KeyWrong(f"wrong passphrase for {where}")
    try:
        return AESGCM(key).decrypt(nonce, content[_HEADER.size :], content[: _HEADER.size])
    except InvalidTag:
        raise GalleryDamaged(f"{where} was altered or damaged", "copy it again") from None


def _keys(passphrase: str, salt: bytes, log2_n: int, block: int, lanes: int) -> tuple[bytes, bytes]:
    master = Scrypt(salt=salt, length=32, n=2**log2_n, r=block, p=lanes).derive(passphrase.encode())
    return subkey(master, salt, "export"), subkey(master, salt, "export check")[:16]
