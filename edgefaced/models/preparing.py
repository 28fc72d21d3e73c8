"""Preparing a pack's networks and keeping the result, so that start-up only loads a file."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

from edgefaced.errors import ManifestError, ModelDamaged, ModelMissing, StorageError
from edgefaced.models.atomic import storage_errors, write_whole
from edgefaced.models.catalogue import catalogue
from edgefaced.models.layout import Layout
from edgefaced.models.manifest import ModelSpec, PackManifest
from edgefaced.models.progress import Progress
from edgefaced.models.reading import read_checked
from edgefaced.models.record import (
    RECORD_FILE,
    FileRecord,
    PreparedRecord,
    ProofRecord,
    VariantRecord,
)
from edgefaced.models.runtime import Runtime
from edgefaced.models.store import ModelStore
from edgefaced.types import U8

if TYPE_CHECKING:
    from edgefaced.models.prepare import PreparedModel

Prepare = Callable[[ModelSpec, bytes, Sequence[U8], int], "PreparedModel"]


@dataclass(frozen=True, slots=True)
class Workshop:
    """How networks are prepared here: by what, for which runtime, with how many threads."""

    prepare: Prepare
    runtime: Runtime
    threads: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """One network of a pack, ready to load; `anew` when it was prepared just now."""

    record: PreparedRecord
    anew: bool


def prepare_pack(
    manifest: PackManifest, store: ModelStore, workshop: Workshop, progress: Progress
) -> list[Prepared]:
    """Prepares what is not yet prepared for this runtime, in the manifest's order.

    Raises ModelError where a file is missing, damaged or breaks its contract, and StorageError.
    """
    results = []
    for spec in manifest.model:
        record = sound_record(spec, store)
        if record is not None and record.made_by(workshop.runtime):
            results.append(Prepared(record, anew=False))
            continue
        progress.say(f"preparing {spec.id} for this machine")
        prepared = workshop.prepare(
            spec, store.original(spec), photographs(manifest, store), workshop.threads
        )
        results.append(Prepared(keep(store.layout, spec, prepared), anew=True))
    for spec in manifest.model:
        _drop_superseded(spec, store.layout)
    return results


def _drop_superseded(spec: ModelSpec, layout: Layout) -> None:
    """Removes what was prepared from the same file for a contract that no known pack has any more.

    Nothing goes where a manifest cannot be read: who cannot be asked may need it.
    """
    try:
        known = catalogue((layout.packs,)).values()
    except (ManifestError, StorageError):
        return
    current = {layout.prepared(model) for pack in known for model in pack.model}
    mine = layout.prepared(spec)
    with storage_errors(mine.parent):
        for folder in mine.parent.iterdir():
            if folder != mine and folder not in current:
                shutil.rmtree(folder)


def sound_record(spec: ModelSpec, store: ModelStore) -> PreparedRecord | None:
    """The record of a prepared network all of whose files are whole, None otherwise."""
    try:
        record = store.record(spec)
        for variant in record.variants:
            for file in (variant.portable, variant.optimised):
                path = store.layout.prepared(spec) / file.file
                read_checked(path, file.sha256, file.size_bytes)
    except (ModelMissing, ModelDamaged, FileNotFoundError):
        return None
    return record


def photographs(manifest: PackManifest, store: ModelStore) -> list[U8]:
    """The pack's photographs that are on this machine, BGR."""
    pictures: list[U8] = []
    for spec in manifest.proof:
        data = store.photograph(spec)
        if data is not None:
            picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
            if picture is not None:
                pictures.append(picture.astype(np.uint8, copy=False))
    return pictures


def keep(layout: Layout, spec: ModelSpec, prepared: PreparedModel) -> PreparedRecord:
    """Writes the files, then the record that names them, then removes what it no longer names."""
    folder = layout.prepared(spec)
    variants = []
    for variant in prepared.variants:
        files = []
        for kind, data in (("portable", variant.portable), ("optimised", variant.optimised)):
            digest = hashlib.sha256(data).hexdigest()
            # Named after its content: a reader of the old record never sees new bytes, and sizes
            # that share a network share its file.
            file = FileRecord(
                file=f"{kind}-{digest[:16]}.onnx",
                size_bytes=len(data),
                sha256=digest,
            )
            write_whole(folder / file.file, data)
            files.append(file)
        proof = ProofRecord.model_validate(asdict(variant.proof))
        portable, optimised = files
        variants.append(
            VariantRecord(size=variant.size, portable=portable, optimised=optimised, proof=proof)
        )
    record = PreparedRecord(
        model=spec.id,
        sha256=spec.sha256,
        prepare_version=prepared.prepare_version,
        onnxruntime=prepared.onnxruntime,
        machine=prepared.machine,
        variants=tuple(variants),
    )
    write_whole(folder / RECORD_FILE, record.model_dump_json(indent=1).encode() + b"\n")
    named = {RECORD_FILE, *(f.file for v in variants for f in (v.portable, v.optimised))}
    with storage_errors(folder):
        for path in folder.iterdir():
            if path.name not in named:
                path.unlink()
    return record
