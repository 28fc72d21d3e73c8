"""Opening a compiled network on the NPU: the direct way where that works, else the plain one."""

from __future__ import annotations

from edgefaced.config.sections import InferenceSection
from edgefaced.errors import DependencyMissing, ModelError
from edgefaced.inference.cores import core_mask, cores_of
from edgefaced.inference.librknnrt import PRIORITY_HIGH, PRIORITY_MEDIUM
from edgefaced.inference.rknn import RknnBackend
from edgefaced.inference.rknn_direct import DirectRknnBackend
from edgefaced.inference.rockchip import Npu
from edgefaced.inference.selftest import Proved, prove
from edgefaced.inference.serving import Serving
from edgefaced.models.compiled_files import CompiledNetwork
from edgefaced.models.manifest import ModelSpec
from edgefaced.protocols import InferenceBackend
from edgefaced.types import Role


def open_on_npu(
    network: CompiledNetwork, spec: ModelSpec, npu: Npu, section: InferenceSection
) -> tuple[InferenceBackend, Serving]:
    """Loaded, and proved by its golden pair. Raises ModelError, DependencyMissing, ConfigError."""
    detects = spec.role is Role.DETECTOR
    mask = core_mask(npu, spec.role, section.detector_cores if detects else section.embedder_cores)
    remark = "inference.zero_copy is off"
    backend: InferenceBackend
    if section.zero_copy == "auto":
        try:
            # A face that waits is short work: it goes before the next look at a frame.
            priority = PRIORITY_MEDIUM if detects else PRIORITY_HIGH
            backend = DirectRknnBackend(network, npu, core_mask=mask, priority=priority)
            proved = _proved(backend, network)
        except ModelError as error:
            remark = str(error)
        else:
            return backend, _serving(network, spec, npu, mask, proved, "direct", "")
    try:
        backend = RknnBackend(network, npu, core_mask=mask)
    except DependencyMissing as error:
        if section.zero_copy == "auto":
            # The package would not mend what the NPU itself has said.
            raise ModelError(remark, error.hint) from error
        raise
    proved = _proved(backend, network)
    return backend, _serving(network, spec, npu, mask, proved, "copied", remark)


def _proved(backend: InferenceBackend, network: CompiledNetwork) -> Proved:
    try:
        return prove(backend, network.model, network.golden)
    except BaseException:
        backend.close()
        raise


def _serving(
    network: CompiledNetwork,
    spec: ModelSpec,
    npu: Npu,
    mask: int,
    proved: Proved,
    memory: str,
    remark: str,
) -> Serving:
    cores = " and ".join(map(str, cores_of(mask))) or "0"
    model = network.model
    return Serving(
        network=spec.id,
        size=model.size,
        backend="rknn",
        where=f"{npu.chip} core {cores}",
        precision=model.precision,
        memory=memory,
        remark=remark,
        cosine=proved.cosine,
    )
