"""The signature of a webhook, as the Standard Webhooks specification (symmetric, v1) has it.

A receiver takes the headers `webhook-id` and `webhook-timestamp` (seconds since 1970) and the body
as it came, joins the three with ".", and makes the HMAC-SHA256 of that with the key; in base64 it
must be one of the "v1,..." words of `webhook-signature`, compared in constant time. It refuses
timestamps that are minutes away from its own clock, and takes an id that it has seen already for
the same event.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

from edgefaced.errors import ConfigError

PREFIX = "whsec_"
LEAST_BYTES = 24
NEW_KEY = f"(printf {PREFIX}; head -c 32 /dev/urandom | base64) > FILE"


def keys_in(text: str, source: str) -> tuple[bytes, ...]:
    """The keys of a file, one a line, "whsec_" and base64; several while a receiver changes over.

    `source` names the file in the ConfigError, which never has the key.
    """
    return tuple(_key(line.strip(), source) for line in text.splitlines() if line.strip())


def signature(keys: Sequence[bytes], event_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`: one word a key."""
    signed = b".".join((event_id.encode(), str(timestamp).encode(), body))
    digests = (hmac.digest(key, signed, hashlib.sha256) for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def _key(line: str, source: str) -> bytes:
    try:
        if not line.startswith(PREFIX):
            raise ValueError("no prefix")
        key = base64.b64decode(line.removeprefix(PREFIX), validate=True)
        if len(key) < LEAST_BYTES:
            raise ValueError("short")
    except (ValueError, binascii.Error):
        raise ConfigError(
            f"{source}: holds a line that is no key of {LEAST_BYTES} bytes or more",
            NEW_KEY,
        ) from None
    return key
