"""Files that appear under their name whole and on the disk, or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from edgefaced.errors import StorageError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def partial_of(target: Path) -> Path:
    """Where a file grows until it is whole: beside its name, so a rename is atomic."""
    return target.with_name(target.name + ".partial")


@contextmanager
def published(target: Path) -> Iterator[BinaryIO]:
    """A file to write; under its name once the block ends, gone when the block raises.

    Raises StorageError for every OSError, so a block that reads elsewhere translates its own.
    """
    partial = partial_of(target)
    with storage_errors(target):
        make_folder(target.parent)
        try:
            with partial.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            publish(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def write_whole(target: Path, data: bytes) -> None:
    """Raises StorageError."""
    with published(target) as file:
        file.write(data)


def publish(partial: Path, target: Path) -> None:
    """Renames a written and synced file, and syncs the folder that holds its name."""
    partial.replace(target)
    sync_folder(target.parent)


def make_folder(folder: Path) -> None:
    """Raises StorageError."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turns an OSError of the block into a StorageError that names `path` and a way out."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            hint = "free some space, or set EDGEFACED_MODELS_DIR to a roomier place"
        else:
            hint = "run as the user who owns it, or set EDGEFACED_MODELS_DIR to another place"
        raise StorageError(f"cannot write {path}: {error.strerror or error}", hint) from error
