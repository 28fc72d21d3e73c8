"""The folder of kept pictures: a file each, whole or not at all, overwritten before it goes.

    NUMBER.MICROSECONDS.EVENT.PERSON.sealed

The name says what is needed to find and to forget one: its place in the order, when it was taken (0
where the clock was not synchronised), the event's id and the person's ("-": nobody known). A file
of their own, not a database: what is forgotten can be overwritten where it lies, on a full disk as
well, without rewriting what stays.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import StorageError
from edgefaced.storage import files

NAME = re.compile(r"(\d{10})\.(\d{16})\.([0-9A-Za-z-]{1,64})\.([0-9A-Za-z-]{1,64})\.sealed")
NOBODY = "-"
DRAFT = ".draft-"

AT_ONCE = 50
"""Pictures erased under one lock: each waits for the disk, and whoever keeps one waits for that."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One picture; `number` grows, `taken_us` is UTC since 1970 where that was known."""

    number: int
    taken_us: int | None
    event_id: str
    person_id: str | None
    size_bytes: int = 0

    @property
    def name(self) -> str:
        """Of its file. Raises StorageError for ids that cannot be in one."""
        person = self.person_id or NOBODY
        name = f"{self.number:010}.{self.taken_us or 0:016}.{self.event_id}.{person}.sealed"
        if not NAME.fullmatch(name):
            raise StorageError(f"a picture cannot be kept as {name!r}")
        return name


def kept_in(folder: Path) -> list[Kept]:
    """Every picture, oldest first; none where there is no folder. Raises StorageError."""
    try:
        with os.scandir(folder) as entries:
            found = [kept for entry in entries if (kept := _kept(entry)) is not None]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _refused(folder, error) from error
    return sorted(found, key=lambda kept: kept.number)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """One process at a time keeps or forgets pictures; drafts of a killed one go first."""
    with files.alone_in(folder):
        try:
            files.adopt(folder, folder.parent)
            for draft in folder.glob(f"{DRAFT}*"):
                _overwrite(draft)
        except OSError as error:
            raise _refused(folder, error) from error
        yield


def write(folder: Path, kept: Kept, content: bytes) -> None:
    """A new file of mode 0600, by whoever is alone in the folder. Raises StorageError."""
    path = folder / kept.name
    draft = folder / f"{DRAFT}{secrets.token_hex(8)}"
    try:
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                files.adopt(draft, folder)
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(path, error) from error


def read(folder: Path, kept: Kept) -> bytes:
    """Raises StorageError."""
    try:
        return (folder / kept.name).read_bytes()
    except OSError as error:
        raise _refused(folder / kept.name, error) from error


def erase(folder: Path, pictures: Iterable[Kept]) -> int:
    """Overwrites and removes some, by whoever is alone in the folder. Raises StorageError."""
    erased = 0
    for kept in pictures:
        # First its name: killed in the middle, it is no picture any more, and swept.
        draft = folder / f"{DRAFT}{secrets.token_hex(8)}"
        try:
            (folder / kept.name).replace(draft)
            _overwrite(draft)
        except FileNotFoundError:  # another process was faster
            continue
        except OSError as error:
            raise _refused(folder / kept.name, error) from error
        erased += 1
    return erased


def forget(folder: Path, people: Iterable[str]) -> int:
    """Erases every picture that is of one of these people; how many. Raises StorageError."""
    ids, erased = frozenset(people), 0
    while folder.exists():
        with alone_in(folder):
            found = [kept for kept in kept_in(folder) if kept.person_id in ids]
            erased += erase(folder, found[:AT_ONCE])
        if len(found) <= AT_ONCE:
            break
    return erased


def _kept(entry: os.DirEntry[str]) -> Kept | None:
    found = NAME.fullmatch(entry.name)
    if found is None:
        return None
    try:
        size = entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # forgotten by another process just now
        return None
    number, taken, event, person = found.groups()
    return Kept(int(number), int(taken) or None, event, None if person == NOBODY else person, size)


def _overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(os.fstat(file.fileno()).st_size))
        file.flush()
        os.fsync(file.fileno())
    path.unlink()


def _refused(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: {error.strerror or error}", "check the disk and the modes")
