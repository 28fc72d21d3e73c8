"""onnxruntime's execution providers: what each is called, and the package that brings it.

onnxruntime itself goes on with the CPU where a provider is absent or takes no part of a network.
Here that is an error: whether to use the CPU is a person's decision, not a library's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnxruntime as ort

from edgefaced.errors import DependencyMissing

NO_CPU = "session.disable_cpu_ep_fallback"
"""With "1" a network of which a part would run on the CPU is refused."""

LOWEST_COSINE = 0.98
"""Of a provider's outputs to the CPU's, at every start: some of them count in float16."""


@dataclass(frozen=True, slots=True)
class Provider:
    """`package` brings it in the place of the package onnxruntime.

    `threads` is the option that says how many it may have, "" where it needs none of ours.
    """

    name: str
    package: str
    options: Mapping[str, str]
    threads: str = ""


PROVIDERS = {
    "openvino": Provider(
        "OpenVINOExecutionProvider",
        "onnxruntime-openvino",
        {"device_type": "CPU"},
        threads="num_of_threads",
    ),
    "openvino-gpu": Provider(
        "OpenVINOExecutionProvider", "onnxruntime-openvino", {"device_type": "GPU"}
    ),
    "qnn": Provider("QNNExecutionProvider", "onnxruntime-qnn", {"backend_path": "libQnnHtp.so"}),
    "tensorrt": Provider("TensorrtExecutionProvider", "onnxruntime-gpu", {}),
    "cuda": Provider("CUDAExecutionProvider", "onnxruntime-gpu", {}),
    "coreml": Provider("CoreMLExecutionProvider", "onnxruntime (for macOS)", {}),
    "vsinpu": Provider("VSINPUExecutionProvider", "onnxruntime, built with --use_vsinpu", {}),
}


def entries(names: Sequence[str], threads: int) -> list[tuple[str, dict[str, str]]]:
    """What onnxruntime is to be given for these. Raises DependencyMissing for one it lacks."""
    available = ort.get_available_providers()
    found: list[tuple[str, dict[str, str]]] = []
    for name in names:
        provider = PROVIDERS[name]
        if provider.name not in available:
            raise DependencyMissing(
                f"onnxruntime {ort.__version__} has no {provider.name}",
                f"inference.providers = [{name!r}] needs the package {provider.package} in the "
                "place of onnxruntime",
            )
        count = {provider.threads: str(threads)} if provider.threads else {}
        found.append((provider.name, {**provider.options, **count}))
    return found
