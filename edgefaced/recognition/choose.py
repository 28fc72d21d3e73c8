"""What a network is run by: the settings, the board and what was imported decide, nothing else.

Where that cannot be, serving from the CPU instead is the person's decision (`inference.fallback`);
each such network is reported with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import onnxruntime as ort

from edgefaced.config.sections import InferenceSection
from edgefaced.errors import DependencyMissing, EdgefacedError, ModelDamaged, ModelError
from edgefaced.inference.onnx import OnnxBackend
from edgefaced.inference.providers import LOWEST_COSINE, entries
from edgefaced.inference.rockchip import Npu, find_npu, is_older
from edgefaced.inference.selftest import prove
from edgefaced.inference.serving import Serving
from edgefaced.models.compiled_files import CompiledNetwork, compiled_models
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.store import LoadableModel, ModelStore
from edgefaced.protocols import InferenceBackend
from edgefaced.recognition.contract import IMAGE
from edgefaced.recognition.on_npu import cores_for, open_on_npu, proved

CPU_TARGET = "cpu"
REASONS = (ModelError, DependencyMissing)
"""What may be wrong with an NPU, a provider or a compiled network; settings are never among it."""

Opened = tuple[InferenceBackend, Serving]


@dataclass(frozen=True, slots=True)
class Means:
    """How networks are run here, and who is told of each that was opened."""

    section: InferenceSection
    npu: Npu | None
    report: Callable[[Serving], None]


def means_of(
    section: InferenceSection, report: Callable[[Serving], None] = lambda serving: None
) -> Means:
    """Those of this machine."""
    return Means(section, find_npu(), report)


def on_cpu(means: Means) -> Means:
    """The same without NPU and providers, for what is not the daemon's own work."""
    plain = means.section.model_copy(update={"backend": "onnx", "providers": ()})
    return replace(means, section=plain)


def open_network(
    store: ModelStore, spec: ModelSpec, size: int, threads: int, means: Means
) -> InferenceBackend:
    """Loads and proves it. Raises ModelError and its kind, DependencyMissing, ConfigError."""
    try:
        backend, serving = _open_chosen(store, spec, size, threads, means)
    except REASONS as error:
        if not _may_fall_back(means, store, spec):
            raise _with_way_out(error, means, store, spec) from error
        file = store.prepared(spec, size)
        backend, serving = _open_float(file, spec, size, threads, fallback=str(error))
    means.report(serving)
    return backend


def check_network(store: ModelStore, spec: ModelSpec, size: int, means: Means) -> None:
    """Whether `open_network` has all that it needs, without loading it; raises what that would."""
    if means.npu is not None:
        cores_for(spec.role, means.npu, means.section)
    try:
        _files(store, spec, size, means)
    except REASONS as error:
        if not _may_fall_back(means, store, spec):
            raise _with_way_out(error, means, store, spec) from error
        store.prepared(spec, size)


def has_network(store: ModelStore, spec: ModelSpec, size: int, means: Means) -> bool:
    """Whether there is one of this very size for what networks are meant to run on."""
    try:
        _files(store, spec, size, means)
    except REASONS:
        return False
    return True


def _uses_npu(store: ModelStore, spec: ModelSpec, means: Means) -> bool:
    """Where "auto" finds anything compiled for this board, the NPU is meant to be used."""
    if means.section.backend != "auto":
        return means.section.backend == "rknn"
    return means.npu is not None and _was_compiled(store, spec, means.npu.target)


def _was_compiled(store: ModelStore, spec: ModelSpec, target: str) -> bool:
    """What is damaged was imported once, and is meant to be used: its loading says the rest."""
    try:
        return bool(compiled_models(store.layout, spec, target))
    except ModelDamaged:
        return True


def _uses_quantised(store: ModelStore, spec: ModelSpec, means: Means) -> bool:
    section = means.section
    if section.precision == "float" or section.providers or _uses_npu(store, spec, means):
        return False
    return _was_compiled(store, spec, CPU_TARGET)


def _files(
    store: ModelStore, spec: ModelSpec, size: int, means: Means
) -> CompiledNetwork | LoadableModel:
    if _uses_npu(store, spec, means):
        if means.npu is None:
            raise ModelError(
                'inference.backend = "rknn": this board has no NPU of Rockchip\'s',
                '"auto" or "onnx" runs the networks on the CPU',
            )
        return store.compiled(spec, means.npu.target, size)
    if _uses_quantised(store, spec, means) and any(
        m.size == size for m in compiled_models(store.layout, spec, CPU_TARGET)
    ):
        return store.compiled(spec, CPU_TARGET, size)
    entries(means.section.providers, 1)
    return store.prepared(spec, size, portable=bool(means.section.providers))


def _open_chosen(
    store: ModelStore, spec: ModelSpec, size: int, threads: int, means: Means
) -> Opened:
    files = _files(store, spec, size, means)
    if isinstance(files, LoadableModel):
        if means.section.providers:
            return _open_on_providers(files, spec, size, threads, means.section)
        return _open_float(files, spec, size, threads)
    if means.npu is not None and files.model.target == means.npu.target:
        return open_on_npu(files, spec, means.npu, means.section)
    return _open_quantised(files, spec, threads)


def _open_float(
    file: LoadableModel, spec: ModelSpec, size: int, threads: int, *, fallback: str = ""
) -> Opened:
    backend = OnnxBackend(file.data, threads=threads, optimise=not file.optimised)
    return backend, Serving(spec.id, size, "onnx", "cpu", "float32", fallback=fallback)


def _open_quantised(files: CompiledNetwork, spec: ModelSpec, threads: int) -> Opened:
    needed = files.model.needs.runtime
    if needed and is_older(ort.__version__, needed):
        raise ModelError(
            f"onnxruntime {ort.__version__} is older than {spec.id} for the CPU needs: {needed}",
            "install a newer onnxruntime",
        )
    backend = OnnxBackend(files.data, threads=threads, optimise=True)
    cosine = proved(backend, files)
    size, precision = files.model.size, files.model.precision
    return backend, Serving(spec.id, size, "onnx", "cpu", precision, cosine=cosine)


def _open_on_providers(
    file: LoadableModel, spec: ModelSpec, size: int, threads: int, section: InferenceSection
) -> Opened:
    """Proved against the CPU, on noise: a provider that miscounts does not serve."""
    names = section.providers
    backend = OnnxBackend(file.data, threads=threads, optimise=False, providers=names)
    try:
        image = np.random.default_rng(1).integers(0, 256, (1, size, size, 3), dtype=np.uint8)
        cpu = OnnxBackend(file.data, threads=threads, optimise=True)
        right = dict(zip([o.name for o in cpu.outputs], cpu.run({IMAGE: image}), strict=True))
        cpu.close()
        test = prove(backend, f"{spec.id} on {', '.join(names)}", image, right, LOWEST_COSINE)
    except BaseException:
        backend.close()
        raise
    where = ", ".join(names)
    return backend, Serving(spec.id, size, "onnx", where, "float32", cosine=test.cosine)


def _may_fall_back(means: Means, store: ModelStore, spec: ModelSpec) -> bool:
    return means.section.fallback == "cpu" and means_more_than_the_cpu(store, spec, means)


def means_more_than_the_cpu(store: ModelStore, spec: ModelSpec, means: Means) -> bool:
    """Whether anything else than the CPU's own float network is meant to be used."""
    return (
        bool(means.section.providers)
        or _uses_npu(store, spec, means)
        or _uses_quantised(store, spec, means)
    )


def _with_way_out(
    error: EdgefacedError, means: Means, store: ModelStore, spec: ModelSpec
) -> EdgefacedError:
    if not means_more_than_the_cpu(store, spec, means):
        return error
    way_out = 'inference.fallback = "cpu" serves from the CPU instead'
    return type(error)(error.message, f"{error.hint}; {way_out}" if error.hint else way_out)
