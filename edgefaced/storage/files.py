"""Files that only their owner can read, whole or not at all, and there after a power cut."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgefaced.errors import StorageError


def publish(path: Path, content: bytes) -> bool:
    """Creates a file of mode 0600 with its content, durably; False where it exists already."""
    folder = path.parent
    draft = folder / f".{path.name}.{secrets.token_hex(8)}"
    try:
        make_folder(folder)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                adopt(draft, folder)
                os.fsync(file.fileno())
            return link(draft, path)
        finally:
            draft.unlink()
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error


def link(draft: Path, path: Path) -> bool:
    """Gives a finished file its name, durably; False where the name is taken."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return False
    sync_folder(path.parent)
    return True


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """One process at a time makes or sweeps drafts in a folder. Raises StorageError."""
    try:
        make_folder(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sweep(path: Path) -> None:
    """Removes the drafts of this file that a killed process left: they may be copies of a key."""
    try:
        for draft in path.parent.iterdir():
            if draft.name.startswith(f".{path.name}."):
                if draft.is_dir():
                    shutil.rmtree(draft)
                else:
                    draft.unlink()
    except OSError as error:
        raise StorageError(f"{error.filename} cannot be removed: {error.strerror}") from error


def make_folder(folder: Path) -> None:
    """A folder of mode 0700; one that exists is left as its owner made it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def adopt(path: Path, folder: Path) -> None:
    """Root gives what it makes to the owner of the folder, so that the daemon can read it."""
    if os.geteuid() == 0:
        owner = folder.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


def sync_folder(folder: Path) -> None:
    """Makes a new or changed name in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
