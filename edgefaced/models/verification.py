"""Hashing every byte of a pack on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import ModelDamaged, ModelMissing
from edgefaced.models.compiled_files import compiled_faults
from edgefaced.models.manifest import ModelSpec, PackManifest
from edgefaced.models.reading import read_checked
from edgefaced.models.store import ModelStore


@dataclass(frozen=True, slots=True)
class Verified:
    """How many files were looked at, and one line for each that is missing or damaged."""

    files: int
    faults: tuple[str, ...]


def verify(manifest: PackManifest, store: ModelStore) -> Verified:
    """Originals, prepared and compiled files, photographs; those may be absent, but not damaged."""
    faults: list[str] = []
    files = 0
    for spec in manifest.files:
        path = store.layout.place(spec)
        if isinstance(spec, ModelSpec) or path.exists():
            files += 1
            faults += _fault(path, spec.sha256, spec.size_bytes)
    for model in manifest.model:
        for fault in compiled_faults(store.layout, model):
            files += 1
            faults += [] if fault is None else [fault]
        try:
            record = store.record(model)
        except (ModelMissing, ModelDamaged) as error:
            faults.append(error.message)
            continue
        for variant in record.variants:
            for file in (variant.portable, variant.optimised):
                files += 1
                path = store.layout.prepared(model) / file.file
                faults += _fault(path, file.sha256, file.size_bytes)
    return Verified(files, tuple(faults))


def _fault(path: Path, sha256: str, size_bytes: int) -> list[str]:
    try:
        read_checked(path, sha256, size_bytes)
    except FileNotFoundError:
        return [f"{path} is missing"]
    except ModelDamaged as error:
        return [error.message]
    return []
