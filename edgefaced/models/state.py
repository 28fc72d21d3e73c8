"""What of a pack is on this machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from edgefaced.errors import ModelDamaged, ModelMissing
from edgefaced.models.atomic import storage_errors, write_whole
from edgefaced.models.catalogue import files_in
from edgefaced.models.layout import Layout
from edgefaced.models.manifest import ModelSpec, PackManifest
from edgefaced.models.record import PreparedRecord
from edgefaced.models.runtime import runtime_of_this_process
from edgefaced.models.store import ModelStore


class PackState(StrEnum):
    """Of a whole pack; `INCOMPLETE` was installed once and is not usable now."""

    INSTALLED = "installed"
    INCOMPLETE = "incomplete"
    ABSENT = "not installed"


@dataclass(frozen=True, slots=True)
class ModelState:
    """Of one network, by names and sizes; `edgefaced models verify` looks at every byte."""

    spec: ModelSpec
    present: bool
    record: PreparedRecord | None


def model_state(spec: ModelSpec, store: ModelStore) -> ModelState:
    try:
        record = store.record(spec)
        folder = store.layout.prepared(spec)
        files = [f for v in record.variants for f in (v.portable, v.optimised)]
        whole = all(_has_size(folder / f.file, f.size_bytes) for f in files)
    except (ModelMissing, ModelDamaged):
        record, whole = None, False
    present = _has_size(store.layout.original(spec), spec.size_bytes)
    return ModelState(spec, present, record if whole else None)


def pack_state(manifest: PackManifest, store: ModelStore) -> PackState:
    if manifest.name not in installed_packs(store.layout):
        return PackState.ABSENT
    states = [model_state(spec, store) for spec in manifest.model]
    usable = all(state.present and state.record is not None for state in states)
    return PackState.INSTALLED if usable else PackState.INCOMPLETE


def installed_packs(layout: Layout) -> set[str]:
    """Names of the packs that were pulled or imported and not removed. Raises StorageError."""
    return {path.stem for path in files_in(layout.installed, ".json")}


def outdated(manifest: PackManifest, store: ModelStore) -> str | None:
    """One line where a network of the pack was prepared by another version of edgefaced.

    Such files load, and lack what preparing has learned since, or has not learned yet.
    """
    current = (store.runtime or runtime_of_this_process()).prepare_version
    versions = set()
    for spec in manifest.model:
        try:
            versions.add(store.record(spec).prepare_version)
        except (ModelMissing, ModelDamaged):
            continue  # said by whoever loads it
    if versions <= {current}:
        return None
    which = "an older" if min(versions) < current else "a newer"
    return (
        f"{manifest.name} was prepared by {which} version of edgefaced: "
        f"`edgefaced models pull {manifest.name}`"
    )


def mark_installed(layout: Layout, name: str) -> None:
    if name not in installed_packs(layout):
        write_whole(layout.installed / f"{name}.json", json.dumps({"pack": name}).encode() + b"\n")


def unmark_installed(layout: Layout, name: str) -> None:
    path = layout.installed / f"{name}.json"
    with storage_errors(path):
        path.unlink(missing_ok=True)


def _has_size(path: Path, size_bytes: int) -> bool:
    try:
        return path.stat().st_size == size_bytes
    except OSError:
        return False
