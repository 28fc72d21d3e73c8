"""Opening a compiled network on the NPU: the direct way where that works, else the plain one."""

from __future__ import annotations

import numpy as np

from edgefaced.config.sections import InferenceSection
from edgefaced.errors import DependencyMissing, ModelError
from edgefaced.inference.cores import core_mask, cores_of
from edgefaced.inference.librknnrt import PRIORITY_HIGH, PRIORITY_MEDIUM
from edgefaced.inference.rknn import RknnBackend
from edgefaced.inference.rknn_direct import DirectRknnBackend
from edgefaced.inference.rockchip import Npu
from edgefaced.inference.selftest import prove
from edgefaced.inference.serving import COPIED, NPU_MEMORY, Serving
from edgefaced.inference.source import CompiledSource, Needs
from edgefaced.models.compiled import CompiledModel
from edgefaced.models.compiled_files import CompiledNetwork
from edgefaced.models.manifest import ModelSpec
from edgefaced.protocols import InferenceBackend, TensorSpec
from edgefaced.recognition.contract import IMAGE
from edgefaced.types import Role

ONE_FACE = "a face at a time, straight into the NPU's memory"


def open_on_npu(
    network: CompiledNetwork, spec: ModelSpec, npu: Npu, section: InferenceSection
) -> tuple[InferenceBackend, Serving]:
    """Loaded, and proved by its golden pair. Raises ModelError, DependencyMissing, ConfigError."""
    detects = spec.role is Role.DETECTOR
    mask = cores_for(spec.role, npu, section)
    source = source_of(network)
    remark = "inference.zero_copy is off"
    backend: InferenceBackend
    if section.zero_copy == "auto":
        try:
            # A face that waits is short work: it goes before the next look at a frame.
            priority = PRIORITY_MEDIUM if detects else PRIORITY_HIGH
            backend = DirectRknnBackend(source, npu, core_mask=mask, priority=priority)
            cosine = proved(backend, network)
        except ModelError as error:
            remark = str(error)
        else:
            if detects:
                return backend, _serving(spec, network, npu, mask, cosine, NPU_MEMORY, "")
            return backend, _serving(spec, network, npu, mask, cosine, COPIED, ONE_FACE)
    try:
        backend = RknnBackend(source, npu, core_mask=mask)
    except DependencyMissing as error:
        if section.zero_copy == "auto":
            # The package would not mend what the NPU itself has said.
            raise ModelError(remark, error.hint) from error
        raise
    cosine = proved(backend, network)
    return backend, _serving(spec, network, npu, mask, cosine, COPIED, remark)


def cores_for(role: Role, npu: Npu, section: InferenceSection) -> int:
    """The mask of its cores. Raises ConfigError for cores that there are not."""
    wished = section.detector_cores if role is Role.DETECTOR else section.embedder_cores
    return core_mask(npu, role, wished)


def source_of(network: CompiledNetwork) -> CompiledSource:
    """The same as the back ends load it."""
    model = network.model
    picture = TensorSpec(IMAGE, (1, model.height, model.width, 3), np.dtype(np.uint8))
    kind = np.dtype(np.float32)
    return CompiledSource(
        id=model.id,
        target=model.target,
        needs=needs_of(model),
        path=network.path,
        data=network.data,
        inputs=(picture,),
        outputs=tuple(TensorSpec(output.name, output.shape, kind) for output in model.outputs),
    )


def needs_of(model: CompiledModel) -> Needs:
    return Needs(model.id, model.needs.runtime, model.needs.driver)


def proved(backend: InferenceBackend, network: CompiledNetwork) -> float:
    """The lowest cosine of the golden self-test. Closes what fails it, and raises ModelError."""
    golden, model = network.golden, network.model
    try:
        test = prove(backend, model.id, golden.image, golden.outputs, model.golden.lowest_cosine)
    except BaseException:
        backend.close()
        raise
    return test.cosine


def _serving(
    spec: ModelSpec,
    network: CompiledNetwork,
    npu: Npu,
    mask: int,
    cosine: float,
    memory: str,
    remark: str,
) -> Serving:
    """By the pack's own name of the network: the record may come from a pack with another."""
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
        cosine=cosine,
    )
