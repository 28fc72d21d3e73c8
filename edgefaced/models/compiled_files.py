"""Compiled networks on this machine: under the hash of what they were compiled from, by target.

The files of one network bear their own hashes and its record is written last, so a reader meets the
old network or the new one, whole, whenever an import is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from edgefaced.errors import ModelDamaged, ModelMissing, StorageError
from edgefaced.models.atomic import storage_errors, write_whole
from edgefaced.models.catalogue import files_in
from edgefaced.models.compiled import CompiledModel
from edgefaced.models.golden import Golden, read_golden
from edgefaced.models.layout import Layout
from edgefaced.models.manifest import ModelSpec, first_fault
from edgefaced.models.reading import read_checked

IMPORT_HINT = "`edgefaced models import FILE` with what the converter wrote for this target"


@dataclass(frozen=True, slots=True, eq=False)
class CompiledNetwork:
    """One that can be loaded: checked bytes, the file they lie in, and what proves it."""

    model: CompiledModel
    path: Path
    data: bytes
    golden: Golden


def compiled_network(layout: Layout, spec: ModelSpec, target: str, size: int) -> CompiledNetwork:
    """Of one target and input size. Raises ModelMissing, ModelDamaged."""
    for again in (False, True):
        model = _record_of(layout, spec, target, size)
        try:
            data, golden = read_compiled(layout, model)
        except ModelDamaged:
            if again:
                raise
            continue  # another process may have just imported it anew: its record names others
        return CompiledNetwork(model, file_of(layout, model), data, read_golden(golden, model))
    raise AssertionError  # the second turn returns or raises


def read_compiled(layout: Layout, model: CompiledModel) -> tuple[bytes, bytes]:
    """The file of a record and its golden pair, checked. Raises ModelDamaged."""
    try:
        return (
            read_checked(file_of(layout, model), model.sha256, model.size_bytes),
            read_checked(golden_of(layout, model), model.golden.sha256, model.golden.size_bytes),
        )
    except FileNotFoundError as error:
        raise ModelDamaged(f"{error.filename} is missing", IMPORT_HINT) from None
    except ModelDamaged as error:
        raise ModelDamaged(error.message, IMPORT_HINT) from error


def compiled_models(layout: Layout, spec: ModelSpec, target: str = "*") -> list[CompiledModel]:
    """Records of all that was compiled from a network, one a target and size.

    Raises ModelDamaged.
    """
    found: list[CompiledModel] = []
    for record in sorted(layout.compiled(spec.sha256).glob(f"{target}/*.json")):
        found += _read_record(record)
    return found


def store_compiled(layout: Layout, model: CompiledModel, data: bytes, golden: bytes) -> None:
    """Takes a network in the place of what there was for its target and size.

    Raises StorageError. The caller has checked the hashes and holds the lock.
    """
    folder = _folder(layout, model)
    write_whole(file_of(layout, model), data)
    write_whole(golden_of(layout, model), golden)
    record = folder / f"{model.size}.json"
    write_whole(record, model.model_dump_json(indent=1).encode() + b"\n")
    used = {record.name for record in files_in(folder, ".json")}
    for other in (m for r in files_in(folder, ".json") for m in _read_record(r)):
        used |= {file_of(layout, other).name, golden_of(layout, other).name}
    with storage_errors(folder):
        for file in folder.iterdir():
            if file.name not in used:
                file.unlink()


def compiled_faults(layout: Layout, spec: ModelSpec) -> Iterator[str | None]:
    """For each file that belongs to what was compiled: None, or what is wrong with it."""
    try:
        models = compiled_models(layout, spec)
    except (ModelDamaged, StorageError) as error:
        yield error.message
        return
    for model in models:
        parts = (
            (file_of(layout, model), model.sha256, model.size_bytes),
            (golden_of(layout, model), model.golden.sha256, model.golden.size_bytes),
        )
        for path, sha256, size_bytes in parts:
            try:
                read_checked(path, sha256, size_bytes)
            except FileNotFoundError:
                yield f"{path} is missing"
            except ModelDamaged as error:
                yield error.message
            else:
                yield None


def file_of(layout: Layout, model: CompiledModel) -> Path:
    return _folder(layout, model) / f"{model.sha256}.{model.kind}"


def golden_of(layout: Layout, model: CompiledModel) -> Path:
    return _folder(layout, model) / f"{model.golden.sha256}.npz"


def _folder(layout: Layout, model: CompiledModel) -> Path:
    return layout.compiled(model.original_sha256) / model.target


def _record_of(layout: Layout, spec: ModelSpec, target: str, size: int) -> CompiledModel:
    path = layout.compiled(spec.sha256) / target / f"{size}.json"
    for model in _read_record(path):
        return model
    others = sorted({m.size for m in compiled_models(layout, spec, target)})
    sizes = f"; there is {', '.join(map(str, others))}" if others else ""
    raise ModelMissing(
        f"{spec.id} is not compiled for {target} at {size}x{size}{sizes}", IMPORT_HINT
    )


def _read_record(path: Path) -> list[CompiledModel]:
    """None where another process has just removed it."""
    try:
        return [CompiledModel.model_validate_json(path.read_bytes())]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ModelDamaged(f"{path}: {error.strerror or error}") from error
    except ValidationError as error:
        raise ModelDamaged(f"{path}: {first_fault(error)}", IMPORT_HINT) from error
