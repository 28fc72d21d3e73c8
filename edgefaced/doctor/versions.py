"""The matrix of versions: what is installed, and what the compiled networks here need."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

from edgefaced import __version__
from edgefaced.doctor.finding import Finding, failed, well
from edgefaced.errors import ModelError
from edgefaced.inference.rknn_faults import check_versions
from edgefaced.inference.rockchip import Npu
from edgefaced.inference.source import Needs

PACKAGES = ("onnxruntime", "numpy", "opencv-python-headless", "rknn-toolkit-lite2")


def versions(npu: Npu | None, compiled: Sequence[Needs]) -> Iterator[Finding]:
    """One line of what there is, and one for each network that needs something newer."""
    found = {name: installed(name) for name in PACKAGES}
    parts = [f"edgefaced {__version__}", f"Python {platform.python_version()}"]
    parts += [f"{name} {number}" for name, number in found.items() if number is not None]
    parts += [f"kernel {platform.release()}", platform.machine()]
    yield well("versions", ", ".join(parts))
    if npu is None:
        return
    for needs in compiled:
        try:
            check_versions(needs, npu.runtime, npu.driver)
        except ModelError as error:
            yield failed("versions", error)


def installed(name: str) -> str | None:
    """Of a Python package; None where there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
