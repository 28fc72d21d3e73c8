"""Writing an installed pack into one file, for machines without a network."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from edgefaced.models.atomic import published
from edgefaced.models.catalogue import manifest_files
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore


def hand_out(manifest: PackManifest, store: ModelStore, target: Path) -> tuple[str, ...]:
    """Writes a tar file that `edgefaced models import` takes; returns the names of its members.

    It holds the manifest, the networks as their makers published them, and the photographs that
    are here. Raises ModelMissing, ModelDamaged and StorageError.
    """
    source = manifest_files((store.layout.packs,))[manifest.name]
    members = {source.name: source.read_bytes()}
    for spec in manifest.model:
        members[spec.file] = store.original(spec)
    for picture in manifest.proof:
        data = store.photograph(picture)
        if data is not None:
            members[picture.file] = data
    with published(target) as file, tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(f"{manifest.name}/{name}")
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
    return tuple(members)
