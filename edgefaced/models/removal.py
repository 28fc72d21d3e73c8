"""Removing a pack without taking a file from another."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import ModelMissing
from edgefaced.models.atomic import storage_errors
from edgefaced.models.catalogue import find_pack, manifest_files
from edgefaced.models.layout import Layout
from edgefaced.models.lock import exclusive
from edgefaced.models.manifest import PackManifest
from edgefaced.models.progress import Progress
from edgefaced.models.state import installed_packs, unmark_installed
from edgefaced.models.store import ModelStore


@dataclass(frozen=True, slots=True)
class Removed:
    """Files that are gone, and files that stay because installed packs use them."""

    deleted: tuple[str, ...]
    shared: tuple[str, ...]


def remove(manifest: PackManifest, store: ModelStore, progress: Progress) -> Removed:
    """Raises ModelMissing where nothing of the pack is here, and StorageError.

    A pack of the person's own stays known, so that it can be pulled or imported again.
    """
    layout = store.layout
    with exclusive(layout.lock, progress):
        here = [spec for spec in manifest.files if layout.place(spec).exists()]
        compiled = any(layout.compiled(spec.sha256).exists() for spec in manifest.model)
        if not (here or compiled) and manifest.name not in installed_packs(layout):
            raise ModelMissing(f"pack {manifest.name} is not installed")
        others = _other_packs(manifest.name, layout)
        kept = {spec.sha256 for pack in others for spec in pack.files}
        recipes = {layout.prepared(spec) for pack in others for spec in pack.model}
        # The mark goes first: killed here, the pack is "not installed" and removal can be repeated.
        unmark_installed(layout, manifest.name)
        for model in manifest.model:
            if model.sha256 not in kept:
                _delete(layout.prepared(model).parent)
                _delete(layout.compiled(model.sha256))
            elif layout.prepared(model) not in recipes:
                _delete(layout.prepared(model))
        for spec in here:
            if spec.sha256 not in kept:
                _delete(layout.place(spec).parent)
    return Removed(
        tuple(spec.file for spec in here if spec.sha256 not in kept),
        tuple(spec.file for spec in here if spec.sha256 in kept),
    )


def _other_packs(name: str, layout: Layout) -> list[PackManifest]:
    """Installed packs but this one. Raises ManifestError: who cannot be read cannot be asked."""
    known = manifest_files((layout.packs,))
    others = sorted((installed_packs(layout) & known.keys()) - {name})
    return [find_pack(other, (layout.packs,)) for other in others]


def _delete(folder: Path) -> None:
    with storage_errors(folder):
        if folder.exists():
            shutil.rmtree(folder)
        if folder.parent.exists() and not any(folder.parent.iterdir()):
            folder.parent.rmdir()
