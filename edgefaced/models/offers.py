"""Every file that a folder, an archive or a single file has to offer, read one after the other."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import ModelDamaged
from edgefaced.models.archive import CHUNK_BYTES, is_archive, members, readable
from edgefaced.models.atomic import published
from edgefaced.models.progress import Progress


@dataclass(frozen=True, slots=True)
class Offer:
    """A regular file by itself or inside an archive; to be read before the next is asked for."""

    name: str
    size_bytes: int
    chunks: Callable[[], Iterator[bytes]]


def offers(path: Path, progress: Progress) -> Iterator[Offer]:
    """Files of a folder at any depth, and the members of the archives among them.

    Raises ModelDamaged where `path` itself cannot be read; a broken file in a folder is told.
    """
    if not path.is_dir():
        with readable(path):
            path.stat()
        yield from _file(path)
        return
    for file in _walk(path):
        try:
            yield from _file(file)
        except ModelDamaged as error:
            progress.say(f"passed over {error.message}")


def read_offer(offer: Offer, limit: int) -> bytes | None:
    """All of a small file; None for one that is larger than `limit` bytes."""
    data = b""
    for chunk in offer.chunks():
        data += chunk
        if len(data) > limit:
            return None
    return data


def copy_offer(offer: Offer, stage: Path) -> str:
    """Copies a file to `stage`, no more of it than it said, and returns its hash."""
    digest = hashlib.sha256()
    left = offer.size_bytes
    with published(stage) as file:
        for chunk in offer.chunks():
            left -= len(chunk)
            if left < 0:
                break
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _file(path: Path) -> Iterator[Offer]:
    with readable(path):
        size, archive = path.stat().st_size, is_archive(path)
    yield Offer(str(path), size, lambda: _chunks(path))
    if archive:
        for member in members(path):
            yield Offer(f"{path}:{member.name}", member.size_bytes, member.chunks)


def _chunks(path: Path) -> Iterator[bytes]:
    with readable(path):
        file = path.open("rb")
    with file:
        while True:
            with readable(path):
                chunk = file.read(CHUNK_BYTES)
            if not chunk:
                return
            yield chunk


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(parent, name)
            if path.is_file():
                yield path
