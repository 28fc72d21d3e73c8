"""Reading a file of the store: all of it, with the hash that was pinned for it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from edgefaced.errors import ModelDamaged


def read_checked(path: Path, sha256: str, size_bytes: int) -> bytes:
    """All bytes of a file that has this size and hash.

    Raises ModelDamaged, and FileNotFoundError where there is no such file.
    """
    try:
        # The size first: a file that is not ours is not read into memory to find that out.
        if path.stat().st_size == size_bytes:
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() == sha256:
                return data
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ModelDamaged(f"{path}: {error.strerror or error}") from error
    raise ModelDamaged(f"{path} does not have its pinned sha256 ({sha256[:12]}…)")
