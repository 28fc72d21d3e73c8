"""Importing compiled networks: a `compiled.toml` and the files that it names by their hashes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from edgefaced.errors import ManifestError, ModelDamaged, ModelMissing
from edgefaced.models.atomic import make_folder, storage_errors
from edgefaced.models.compiled import (
    COMPILED_FILE,
    CompiledModel,
    CompiledRecord,
    parse_compiled,
)
from edgefaced.models.compiled_files import store_compiled
from edgefaced.models.golden import read_golden
from edgefaced.models.layout import Layout
from edgefaced.models.manifest import ModelSpec, PackManifest
from edgefaced.models.offers import copy_offer, offers, read_offer
from edgefaced.models.progress import Progress

LARGEST_RECORD_BYTES = 1 << 20


def take_compiled(
    path: Path,
    wanted: Sequence[PackManifest],
    known: Sequence[PackManifest],
    layout: Layout,
    progress: Progress,
) -> dict[str, list[CompiledModel]]:
    """Installs what records of a folder or archive name for `wanted` packs; by the original's hash.

    Everything or nothing. Raises ModelMissing for an original that no `known` pack has,
    ModelDamaged for a file that is not there or not what the record says, ManifestError for a
    record that does not fit its pack.
    """
    records = list(_records(path, progress))
    if not records:
        return {}
    specs = {spec.sha256: spec for manifest in known for spec in manifest.model}
    for record in records:
        for model in record.model:
            _check(model, specs)
    asked = {spec.sha256 for manifest in wanted for spec in manifest.model}
    models = [m for record in records for m in record.model if m.original_sha256 in asked]
    stage = layout.downloads / "compiled"
    try:
        files = _stage(path, models, stage, progress)
        contents = [_contents(model, files) for model in models]
        for model, (data, golden) in zip(models, contents, strict=True):
            store_compiled(layout, model, data, golden)
    finally:
        with storage_errors(stage):
            if stage.exists():
                shutil.rmtree(stage)
    taken: dict[str, list[CompiledModel]] = {}
    for model in models:
        taken.setdefault(model.original_sha256, []).append(model)
        progress.say(f"found {model.id} compiled for {model.target}, {model.width}x{model.height}")
    return taken


def _records(path: Path, progress: Progress) -> Iterator[CompiledRecord]:
    for offer in offers(path, progress):
        # An archive's members are told with the archive's name before a colon.
        if PurePosixPath(offer.name.rpartition(":")[2]).name != COMPILED_FILE:
            continue
        data = read_offer(offer, LARGEST_RECORD_BYTES)
        if data is None:
            raise ManifestError(f"{offer.name} is larger than any record of compiled networks")
        yield parse_compiled(data, offer.name)


def _check(model: CompiledModel, known: Mapping[str, ModelSpec]) -> None:
    """Whether it is a form of a network that a pack has."""
    spec = known.get(model.original_sha256)
    if spec is None:
        raise ModelMissing(
            f"{model.id} was compiled from a network that no known pack has "
            f"(sha256 {model.original_sha256[:12]}…)",
            "import the manifest of its pack first",
        )
    promised, given = sorted(o.name for o in spec.output), sorted(o.name for o in model.outputs)
    if promised != given:
        raise ManifestError(
            f"{COMPILED_FILE}: {model.id} gives {given}, its pack promises {promised}",
            "convert the network again",
        )


def _stage(
    path: Path, models: Sequence[CompiledModel], stage: Path, progress: Progress
) -> dict[str, Path]:
    """Copies of the named files, by hash, whatever they are called."""
    wanted = {m.sha256: m.size_bytes for m in models}
    wanted |= {m.golden.sha256: m.golden.size_bytes for m in models}
    make_folder(stage)
    found: dict[str, Path] = {}
    for offer in offers(path, progress):
        if offer.size_bytes not in wanted.values():
            continue
        copy = stage / "copy"
        digest = copy_offer(offer, copy)
        if digest in wanted and digest not in found:
            found[digest] = stage / digest
            with storage_errors(stage):
                copy.rename(found[digest])
    return found


def _contents(model: CompiledModel, files: Mapping[str, Path]) -> tuple[bytes, bytes]:
    for name, digest in ((model.file, model.sha256), (model.golden.file, model.golden.sha256)):
        if digest not in files:
            raise ModelDamaged(
                f"{COMPILED_FILE} names {name}, and no file beside it has its sha256 "
                f"({digest[:12]}…)",
                "copy the converter's archive again",
            )
    golden = files[model.golden.sha256].read_bytes()
    read_golden(golden, model)
    return files[model.sha256].read_bytes(), golden
