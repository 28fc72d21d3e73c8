"""Pulling a pack: what is missing is fetched, verified, prepared; what is there is left alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import DownloadError, ModelDamaged
from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.fetch.sources import Means, archive_place, fetch
from edgefaced.models.fetch.transport import open_transport
from edgefaced.models.layout import Layout
from edgefaced.models.lock import exclusive
from edgefaced.models.manifest import PackManifest, PictureSpec, Pinned
from edgefaced.models.preparing import Prepared, Workshop, prepare_pack
from edgefaced.models.progress import Progress
from edgefaced.models.reading import read_checked
from edgefaced.models.state import mark_installed
from edgefaced.models.store import ModelStore


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was not here, and the archive or URL that had it."""

    file: str
    source: str


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull did for one pack."""

    manifest: PackManifest
    fetched: tuple[Fetched, ...]
    prepared: tuple[Prepared, ...]
    missing_photographs: tuple[str, ...]

    @property
    def changed(self) -> bool:
        return bool(self.fetched) or any(p.anew for p in self.prepared)


def pull(
    manifests: Sequence[PackManifest],
    store: ModelStore,
    workshop: Workshop,
    pip_config: Callable[[], PipConfig],
    progress: Progress,
) -> list[Pulled]:
    """Installs packs. Raises ModelError, DependencyMissing and StorageError.

    Interrupted at any moment it leaves nothing half under a real name, and what was downloaded is
    continued by the next pull. `pip_config` is asked only where something has to be fetched.
    """
    layout = store.layout
    with exclusive(layout.lock, progress):
        done = [_pull_one(m, store, workshop, pip_config, progress) for m in manifests]
        _clean_up(layout, manifests)
    return done


def _pull_one(
    manifest: PackManifest,
    store: ModelStore,
    workshop: Workshop,
    pip_config: Callable[[], PipConfig],
    progress: Progress,
) -> Pulled:
    layout = store.layout
    wanted = [spec for spec in manifest.files if not is_here(spec, layout.place(spec))]
    fetched, missing = [], []
    if wanted:
        config = pip_config()
        with open_transport(config) as transport:
            means = Means(transport, config, layout.downloads, progress)
            for spec in wanted:
                try:
                    fetched.append(Fetched(spec.file, fetch(spec, layout.place(spec), means)))
                except DownloadError:
                    if not isinstance(spec, PictureSpec):
                        raise
                    missing.append(spec.file)  # it only makes the proof better
    prepared = prepare_pack(manifest, store, workshop, progress)
    mark_installed(layout, manifest.name)
    return Pulled(manifest, tuple(fetched), tuple(prepared), tuple(missing))


def is_here(spec: Pinned, path: Path) -> bool:
    """Is the file whole?"""
    try:
        read_checked(path, spec.sha256, spec.size_bytes)
    except (FileNotFoundError, ModelDamaged):
        return False
    return True


def _clean_up(layout: Layout, manifests: Iterable[PackManifest]) -> None:
    """Removes the archives of these packs: all that was wanted of them is in its place."""
    for manifest in manifests:
        for spec in manifest.files:
            for source in spec.source:
                shutil.rmtree(archive_place(source, layout.downloads).parent, ignore_errors=True)
