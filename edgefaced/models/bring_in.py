"""Installing packs from a folder or an archive, without a network."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import ModelDamaged, ModelMissing
from edgefaced.models.atomic import make_folder, publish, storage_errors, write_whole
from edgefaced.models.bring_in_compiled import take_compiled
from edgefaced.models.catalogue import catalogue, find_pack, shipped_folder
from edgefaced.models.compiled import CompiledModel
from edgefaced.models.layout import Layout
from edgefaced.models.lock import exclusive
from edgefaced.models.manifest import PackManifest, Pinned, parse_manifest
from edgefaced.models.offers import Offer, copy_offer, offers, read_offer
from edgefaced.models.preparing import Prepared, Workshop, prepare_pack
from edgefaced.models.progress import Progress
from edgefaced.models.pull import is_here
from edgefaced.models.state import mark_installed
from edgefaced.models.store import ModelStore

LARGEST_MANIFEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did for one pack: files found there, networks still missing, the result."""

    manifest: PackManifest
    found: tuple[str, ...]
    missing: tuple[str, ...]
    prepared: tuple[Prepared, ...]
    compiled: tuple[CompiledModel, ...] = ()
    """Networks that were compiled from one of its own, with their targets."""


def bring_in(
    path: Path, pack: str | None, store: ModelStore, workshop: Workshop, progress: Progress
) -> list[Imported]:
    """Takes what is there of one pack, or of every pack; those that are complete are installed.

    Files are known by their hash, whatever they are called. A manifest among them becomes one of
    this machine's own packs. Raises ModelError and StorageError.
    """
    if not path.exists():
        raise ModelMissing(f"there is no {path}", "name a folder or an archive with model files")
    layout = store.layout
    with exclusive(layout.lock, progress):
        _take_manifests(offers(path, progress), pack, layout, progress)
        known = catalogue((layout.packs,)).values()
        manifests = [find_pack(pack, (layout.packs,))] if pack else list(known)
        compiled = take_compiled(path, manifests, list(known), layout, progress)
        found = _take_files(offers(path, progress), manifests, layout, progress)
        results = [
            _finish(manifest, found, compiled, store, workshop, progress)
            for manifest in manifests
            if pack or any(s.sha256 in found or s.sha256 in compiled for s in manifest.model)
        ]
    if not results:
        raise ModelMissing(
            f"{path} has no network of any known pack",
            "files are known by their sha256: see `edgefaced models show NAME`",
        )
    return results


def _take_manifests(
    found: Iterable[Offer], pack: str | None, layout: Layout, progress: Progress
) -> None:
    for offer in found:
        if not offer.name.endswith(".toml") or offer.size_bytes > LARGEST_MANIFEST_BYTES:
            continue
        try:
            data = read_offer(offer, LARGEST_MANIFEST_BYTES)
        except ModelDamaged:
            continue  # told when its files are looked at
        if data is None or not _claims_to_be_a_manifest(data):
            continue
        manifest = parse_manifest(data, offer.name)
        if pack is not None and manifest.name != pack:
            continue
        if (shipped_folder() / f"{manifest.name}.toml").exists():
            if manifest != find_pack(manifest.name):
                progress.say(f"{offer.name} is passed over: {manifest.name} is a shipped pack")
            continue
        write_whole(layout.packs / f"{manifest.name}.toml", data)
        progress.say(f"pack {manifest.name} is known now, by {offer.name}")


def _claims_to_be_a_manifest(data: bytes) -> bool:
    """Many a TOML file has nothing to do with packs."""
    try:
        return "manifest" in tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return False


def _take_files(
    found: Iterable[Offer], manifests: Sequence[PackManifest], layout: Layout, progress: Progress
) -> set[str]:
    """Copies every file that a pack names; returns their hashes."""
    wanted: dict[str, list[Pinned]] = {}
    for spec in (spec for manifest in manifests for spec in manifest.files):
        wanted.setdefault(spec.sha256, []).append(spec)
    sizes = {digest: specs[0].size_bytes for digest, specs in wanted.items()}
    taken: set[str] = set()
    stage = layout.downloads / "import"
    for offer in found:
        if offer.size_bytes not in sizes.values():
            continue
        try:
            digest = copy_offer(offer, stage)
        except ModelDamaged as error:
            progress.say(f"passed over {error.message}")
            continue
        if digest in wanted:
            taken.add(digest)
            sizes.pop(digest, None)  # once is enough
            _distribute(stage, {layout.place(spec) for spec in wanted[digest]})
            progress.say(f"found {wanted[digest][0].file}: {offer.name}")
        with storage_errors(stage):
            stage.unlink(missing_ok=True)
    return taken


def _distribute(stage: Path, targets: set[Path]) -> None:
    """Gives a verified file its name in the store, or its names where packs call it differently."""
    first, *others = sorted(targets)
    make_folder(first.parent)
    with storage_errors(first):
        publish(stage, first)
    for target in others:
        write_whole(target, first.read_bytes())


def _finish(
    manifest: PackManifest,
    found: set[str],
    compiled: Mapping[str, Sequence[CompiledModel]],
    store: ModelStore,
    workshop: Workshop,
    progress: Progress,
) -> Imported:
    names = tuple(spec.file for spec in manifest.files if spec.sha256 in found)
    here = tuple(m for spec in manifest.model for m in compiled.get(spec.sha256, ()))
    missing = tuple(_missing(manifest, store.layout))
    if missing or (here and not names):  # nothing of its own has come
        return Imported(manifest, names, missing, (), here)
    prepared = prepare_pack(manifest, store, workshop, progress)
    mark_installed(store.layout, manifest.name)
    return Imported(manifest, names, (), tuple(prepared), here)


def _missing(manifest: PackManifest, layout: Layout) -> Iterator[str]:
    for spec in manifest.model:
        if not is_here(spec, layout.original(spec)):
            yield spec.file
