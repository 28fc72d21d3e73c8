"""What a prepared file depends on besides its source: this program, onnxruntime and the machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Runtime:
    """An optimised graph is only run where all three are the same."""

    prepare_version: int
    onnxruntime: str
    machine: str


def runtime_of_this_process() -> Runtime:
    import onnxruntime

    from edgefaced.models.prepare import PREPARE_VERSION, machine_fingerprint

    return Runtime(PREPARE_VERSION, str(onnxruntime.__version__), machine_fingerprint())
