"""What `edgefaced models` says of a pack, as a JSON body and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from edgefaced.cli.output import plain
from edgefaced.cli.transfers import megabytes
from edgefaced.errors import ModelDamaged
from edgefaced.models.bring_in import Imported
from edgefaced.models.compiled import CompiledModel
from edgefaced.models.compiled_files import compiled_models
from edgefaced.models.fetch.transport import shown
from edgefaced.models.manifest import HttpsSource, ModelSpec, PackManifest, Source
from edgefaced.models.preparing import Prepared
from edgefaced.models.pull import Pulled
from edgefaced.models.record import PreparedRecord
from edgefaced.models.runtime import runtime_of_this_process
from edgefaced.models.state import model_state, pack_state
from edgefaced.models.store import ModelStore


def pack_body(pack: PackManifest, store: ModelStore) -> dict[str, Any]:
    """State and terms of a pack."""
    return {
        "name": pack.name,
        "summary": pack.summary,
        "notice": pack.notice,
        "state": str(pack_state(pack, store)),
        "commercial_use": pack.commercial_use,
        "size_bytes": sum(spec.size_bytes for spec in pack.model),
        "models": [_model_body(spec, store) for spec in pack.model],
    }


def _model_body(spec: ModelSpec, store: ModelStore) -> dict[str, Any]:
    state = model_state(spec, store)
    record = state.record
    return {
        "role": str(spec.role),
        "id": spec.id,
        "file": spec.file,
        "size_bytes": spec.size_bytes,
        "sha256": spec.sha256,
        "licence": spec.licence,
        "commercial_use": spec.commercial_use,
        "present": state.present,
        "prepared": None
        if record is None
        else {
            "onnxruntime": record.onnxruntime,
            "for_this_machine": record.made_by(store.runtime or runtime_of_this_process()),
            "variants": _variants(record),
        },
        "compiled": [compiled_body(model) for model in _compiled(spec, store)],
    }


def _compiled(spec: ModelSpec, store: ModelStore) -> list[CompiledModel]:
    """What a damaged record says is for `models verify` to complain of."""
    try:
        return compiled_models(store.layout, spec)
    except ModelDamaged:
        return []


def compiled_body(model: CompiledModel) -> dict[str, Any]:
    """A network compiled for a target: what it needs and how well it was proved."""
    keys = {"target", "kind", "precision", "width", "height", "size_bytes", "sha256"}
    return model.model_dump(mode="json", include={*keys, "needs", "proof"})


def compiled_line(model: CompiledModel) -> str:
    needs, proof = model.needs, model.proof
    library = "librknnrt" if model.kind == "rknn" else "onnxruntime"
    wants = [f"{library} {needs.runtime}"] if needs.runtime else []
    wants += [f"driver {needs.driver}"] if needs.driver else []
    said = f"compiled for {model.target}, {model.width}x{model.height} {model.precision}"
    said += f", by {needs.toolkit}" + (f", needs {' and '.join(wants)}" if wants else "")
    proved = []
    if proof.mean_cosine is not None:
        proved.append(f"mean cosine {proof.mean_cosine:.4f}")
    if proof.lfw_accuracy is not None:
        proved.append(f"LFW {proof.lfw_accuracy:.2%} over {proof.lfw_pairs} pairs")
    if proof.recall is not None:
        proved.append(f"recall {proof.recall:.1%}")
    if proof.landmark_error is not None:
        proved.append(f"landmarks off by {proof.landmark_error:.1%} of a face")
    return f"{said}; on {proof.pictures} pictures: {', '.join(proved) or 'nothing measured'}"


def pack_table(packs: Sequence[PackManifest], store: ModelStore, configured: str) -> Table:
    """A row a pack, a star at the configured one, and below it a row for each of its networks."""
    table = Table(box=None, pad_edge=False)
    table.add_column("pack", no_wrap=True)
    table.add_column("state, licence", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("commercial use", no_wrap=True)
    for pack in packs:
        body = pack_body(pack, store)
        name = plain(pack.name + ("*" if pack.name == configured else ""))
        size = megabytes(body["size_bytes"])
        table.add_row(name, _state_text(body), size, _yes(pack.commercial_use), style="bold")
        for spec in pack.model:
            size = megabytes(spec.size_bytes)
            licence = plain(spec.licence)
            table.add_row(plain(f"  {spec.id}"), licence, size, _yes(spec.commercial_use))
            for model in _compiled(spec, store):
                what = f"for {model.target}: {model.width}x{model.height} {model.precision}"
                table.add_row("", plain(what), megabytes(model.size_bytes), "")
    return table


def _yes(permitted: bool) -> str:
    return "yes" if permitted else "no"


def _state_text(body: dict[str, Any]) -> str:
    prepared = [model["prepared"] for model in body["models"]]
    stale = any(p is not None and not p["for_this_machine"] for p in prepared)
    return f"{body['state']}, to be prepared again" if stale else str(body["state"])


def pack_lines(pack: PackManifest, store: ModelStore) -> list[str]:
    """All that a person may want to know of one pack."""
    lines = [f"{pack.name}: {pack.summary}", f"state: {_state_text(pack_body(pack, store))}"]
    if pack.notice:
        lines.append(f"notice: {pack.notice}")
    for spec in pack.model:
        shape = "x".join("?" if side == -1 else str(side) for side in spec.input.shape)
        lines += [
            "",
            f"{spec.role} {spec.id}",
            f"  file: {spec.file}, {spec.size_bytes} bytes, sha256 {spec.sha256}",
            f"  licence: {spec.licence}; commercial use: {_yes(spec.commercial_use)}",
            f"  input: {spec.input.name}, {shape} {spec.input.layout} {spec.input.colour_order}, "
            f"(pixel - {list(spec.input.mean)}) / {list(spec.input.std)}",
            f"  outputs: {', '.join(output.name for output in spec.output)}",
            *(f"  source: {source_text(source)}" for source in spec.source),
        ]
        if spec.decoder is not None:
            sizes = ", ".join(str(size) for size in spec.input.sizes or ())
            lines.append(
                f"  decoder: {spec.decoder.kind}, sizes {sizes}, score threshold "
                f"{spec.decoder.score_threshold:g}, NMS IoU {spec.decoder.nms_iou:g}"
            )
        if spec.embedding is not None:
            lines.append(f"  embedding: {spec.embedding.id}, {spec.embedding.dimension} values")
        if spec.calibration is not None:
            lines.append(
                f"  calibration: {spec.calibration.measured_on}, "
                f"{spec.calibration.comparisons} comparisons"
            )
        record = model_state(spec, store).record
        for variant in record.variants if record else ():
            proof = variant.proof
            lines.append(
                f"  prepared for {variant.size}x{variant.size}: over {proof.inputs} inputs "
                f"({proof.kind}) 1 - cosine to the original is at most "
                f"{max(1 - proof.lowest_cosine, 0):.1e}"
            )
        lines += [f"  {compiled_line(m)}" for m in _compiled(spec, store)]
    if pack.proof:
        lines += ["", "photographs:"]
        lines += [f"  {picture.file}: {picture.credit}" for picture in pack.proof]
    return lines


def terms(pack: PackManifest) -> list[str]:
    """What a person must know before a byte is fetched."""
    lines = [f"{pack.name}: {spec.id}: {spec.licence}" for spec in pack.model]
    return [*lines, f"{pack.name}: {pack.notice}"] if pack.notice else lines


def source_text(source: Source) -> str:
    if isinstance(source, HttpsSource):
        inside = f", member {source.member}" if source.member else ""
        return f"{shown(source.url)}{inside}"
    return f"package index: {source.project}, file {source.file}, member {source.member}"


def pulled_body(pulled: Pulled) -> dict[str, Any]:
    return {
        "name": pulled.manifest.name,
        "changed": pulled.changed,
        "fetched": [{"file": f.file, "source": f.source} for f in pulled.fetched],
        "prepared": [prepared_body(p) for p in pulled.prepared],
        "missing_photographs": list(pulled.missing_photographs),
    }


def imported_body(imported: Imported) -> dict[str, Any]:
    return {
        "name": imported.manifest.name,
        "installed": not imported.missing,
        "found": list(imported.found),
        "missing": list(imported.missing),
        "prepared": [prepared_body(p) for p in imported.prepared],
        "compiled": [{"model": m.id, **compiled_body(m)} for m in imported.compiled],
    }


def prepared_body(prepared: Prepared) -> dict[str, Any]:
    return {
        "model": prepared.record.model,
        "anew": prepared.anew,
        "variants": _variants(prepared.record),
    }


def _variants(record: PreparedRecord) -> list[dict[str, Any]]:
    return [v.model_dump(mode="json", include={"size", "proof"}) for v in record.variants]


def pulled_line(pulled: Pulled) -> str:
    name = pulled.manifest.name
    if not pulled.changed:
        return f"{name}: already installed"
    anew = sum(p.anew for p in pulled.prepared)
    fetched, networks = _some(len(pulled.fetched), "file"), _some(anew, "network")
    return f"{name}: installed ({fetched} fetched, {networks} prepared)"


def imported_line(imported: Imported) -> str:
    name = imported.manifest.name
    if imported.compiled and not imported.found:
        which = sorted({f"{m.id} for {m.target}" for m in imported.compiled})
        return f"{name}: {', '.join(which)}"
    if imported.missing:
        return f"{name}: not complete, still missing: {', '.join(imported.missing)}"
    anew = sum(p.anew for p in imported.prepared)
    found, networks = _some(len(imported.found), "file"), _some(anew, "network")
    return f"{name}: installed ({found} found, {networks} prepared)"


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
