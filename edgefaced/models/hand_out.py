"""Writing an installed pack into one file, for machines without a network."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from edgefaced.models.atomic import published
from edgefaced.models.catalogue import manifest_files
from edgefaced.models.compiled import COMPILED_FILE, CompiledModel, CompiledRecord
from edgefaced.models.compiled_files import compiled_models, file_of, golden_of, read_compiled
from edgefaced.models.compiled_text import compiled_toml
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore


def hand_out(manifest: PackManifest, store: ModelStore, target: Path) -> tuple[str, ...]:
    """Writes a tar file that `edgefaced models import` takes; returns the names of its members.

    It holds the manifest, the networks as their makers published them, the photographs that are
    here, and what was compiled from the networks, for whichever board. Raises ModelMissing,
    ModelDamaged and StorageError.
    """
    source = manifest_files((store.layout.packs,))[manifest.name]
    members = {source.name: source.read_bytes()}
    for spec in manifest.model:
        members[spec.file] = store.original(spec)
    for picture in manifest.proof:
        data = store.photograph(picture)
        if data is not None:
            members[picture.file] = data
    members |= _compiled(manifest, store)
    with published(target) as file, tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(f"{manifest.name}/{name}")
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
    return tuple(members)


def _compiled(manifest: PackManifest, store: ModelStore) -> dict[str, bytes]:
    """The record of all compiled networks and their files, which are named by their hashes here."""
    members: dict[str, bytes] = {}
    models: list[CompiledModel] = []
    for spec in manifest.model:
        for model in compiled_models(store.layout, spec):
            file, golden = file_of(store.layout, model), golden_of(store.layout, model)
            members[file.name], members[golden.name] = read_compiled(store.layout, model)
            record = model.golden.model_copy(update={"file": golden.name})
            models.append(model.model_copy(update={"file": file.name, "golden": record}))
    if models:
        record_of_all = CompiledRecord(compiled=1, pack=manifest.name, model=tuple(models))
        members[COMPILED_FILE] = compiled_toml(record_of_all).encode()
    return members
