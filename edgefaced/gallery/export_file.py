"""Export files on a disk or a stick: read within bounds, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from edgefaced.errors import GalleryDamaged, Refused, StorageError
from edgefaced.gallery.exchange import LARGEST_BYTES
from edgefaced.storage.files import sync_folder


def read_export(path: Path) -> bytes:
    """The bytes of a file to import. Raises StorageError, GalleryDamaged for a huge one."""
    try:
        with path.open("rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            if size_bytes > LARGEST_BYTES:
                raise GalleryDamaged(f"{path} is larger than any exported gallery")
            return file.read(LARGEST_BYTES)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error


def write_export(path: Path, content: bytes, *, overwrite: bool = False) -> None:
    """A new file of mode 0600; raises Refused where there is one, unless told to overwrite."""
    with exporting(path, overwrite=overwrite) as file:
        file.write(content)


@contextmanager
def exporting(path: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """The same for what is too large for the memory: written bit by bit, there at the end."""
    if path.exists() and not overwrite:
        raise Refused(f"{path} exists already", "choose another name or --force")
    if path.exists() and not path.is_file():
        # What is put in its place would be a file where others expect a device or a pipe.
        raise Refused(f"{path} is no regular file", 'choose another name, or "-" for stdout')
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error
    with suppress(OSError):  # some sticks and shares cannot sync a folder
        sync_folder(path.parent)
