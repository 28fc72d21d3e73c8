"""Compiling for a Rockchip NPU, in two steps as the toolkit has them.

The first step calibrates and writes down each tensor's range; the second compiles, with the
tensors that we name kept in fp16. Both leave files in the working folder, which is temporary.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edgefaced.models.compiled import TensorRecord
from edgefaced.types import U8
from edgefaced_convert.layer_table import Layer, fallbacks_in, layers_in
from edgefaced_convert.packs import PackNetwork
from edgefaced_convert.simulator import SimulatedNetwork
from edgefaced_convert.toolchain import Api, ConvertError, checked, list_pictures, open_toolkit

STEM = "network"
Algorithm = Literal["normal", "mmse"]
HEAD_BYTES = 1 << 16
"""The record of dtypes stands near a compiled file's beginning."""


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A compiled file, what its outputs are, and what the toolkit said."""

    data: bytes
    log: str
    outputs: tuple[TensorRecord, ...] = ()
    layers: tuple[Layer, ...] = field(init=False)
    said: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", layers_in(self.log))
        object.__setattr__(self, "said", fallbacks_in(self.log))


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """The first step's result: the working folder and the names of the tensors with ranges."""

    folder: Path
    target: str
    settings: dict[str, Any]
    tensors: tuple[str, ...]


@contextlib.contextmanager
def working_folder() -> Iterator[Path]:
    """A folder that is gone afterwards: the toolkit leaves pictures and weights behind."""
    with (
        tempfile.TemporaryDirectory(prefix="edgefaced-convert-") as name,
        contextlib.chdir(name),
    ):
        yield Path(name)


def compile_float(form: bytes, target: str) -> Compiled:
    """Compiles in fp16, to see where the operators go. Raises ConvertError."""
    with working_folder() as folder:
        settings = {"target_platform": target, "remove_reshape": True}
        toolkit, log = _loaded(form, folder, settings)
        try:
            _, built = checked("build", lambda: toolkit.build(do_quantization=False))
        finally:
            _release(toolkit)
    return Compiled(b"", log + built)


@contextlib.contextmanager
def built_fp16(
    form: bytes, network: PackNetwork, target: str, folder: Path
) -> Iterator[tuple[Compiled, SimulatedNetwork]]:
    """The network in fp16 throughout, and its simulation while the block runs."""
    toolkit, log = _loaded(form, folder, settings_for(network, target))
    try:
        _, built = checked("build", lambda: toolkit.build(do_quantization=False))
        yield _finished(toolkit, network, folder, log + built, {})
    finally:
        _release(toolkit)


def calibrate(
    form: bytes,
    network: PackNetwork,
    target: str,
    pictures: Sequence[U8],
    folder: Path,
    algorithm: Algorithm = "normal",
) -> Calibrated:
    """Measures every tensor's range on pictures (height, width, 3) in the manifest's order."""
    settings = {**settings_for(network, target), "quantized_algorithm": algorithm}
    listed = list_pictures([np.moveaxis(p, 2, 0)[np.newaxis] for p in pictures], folder)
    toolkit, _ = _loaded(form, folder, settings)
    try:
        checked("calibration", lambda: toolkit.hybrid_quantization_step1(dataset=str(listed)))
    finally:
        _release(toolkit)
    tensors = tuple(str(name) for name in _read_ranges(folder)["quantize_parameters"])
    return Calibrated(folder, target, settings, tensors)


@contextlib.contextmanager
def built(
    calibrated: Calibrated, network: PackNetwork, in_fp16: Sequence[str]
) -> Iterator[tuple[Compiled, SimulatedNetwork]]:
    """The quantised network with these tensors in fp16, and its simulation."""
    folder = calibrated.folder
    ranges = _read_ranges(folder)
    ranges["custom_quantize_layers"] = dict.fromkeys(in_fp16, "float16")
    _yaml().dump(ranges, folder / "chosen.cfg")
    toolkit = open_toolkit()
    try:
        _configure(toolkit, calibrated.settings)
        _, log = checked(
            "build",
            lambda: toolkit.hybrid_quantization_step2(
                model_input=f"{STEM}.model",
                data_input=f"{STEM}.data",
                model_quantization_cfg="chosen.cfg",
            ),
        )
        yield _finished(toolkit, network, folder, log, ranges["quantize_parameters"])
    finally:
        _release(toolkit)


def settings_for(network: PackNetwork, target: str) -> dict[str, Any]:
    """Normalisation inside, reshapes at the ends gone: their values lie in the same order."""
    spec = network.spec
    if spec.input.layout != "NCHW":
        raise ConvertError(f"{spec.id} takes {spec.input.layout}", "export it with NCHW input")
    return {
        "mean_values": [[*spec.input.mean]],
        "std_values": [[*spec.input.std]],
        "target_platform": target,
        "remove_reshape": True,
    }


def _loaded(form: bytes, folder: Path, settings: dict[str, Any]) -> tuple[Api, str]:
    path = folder / f"{STEM}.onnx"
    path.write_bytes(form)
    toolkit = open_toolkit()
    _configure(toolkit, settings)
    _, log = checked("load", lambda: toolkit.load_onnx(model=str(path)))
    return toolkit, log


def _configure(toolkit: Api, settings: dict[str, Any]) -> None:
    checked("config", lambda: toolkit.config(**settings) or 0)


def _release(toolkit: Api) -> None:
    checked("release", lambda: toolkit.release() or 0)


def _finished(
    toolkit: Api, network: PackNetwork, folder: Path, log: str, ranges: dict[str, Any]
) -> tuple[Compiled, SimulatedNetwork]:
    path = folder / f"{STEM}.rknn"
    checked("export", lambda: toolkit.export_rknn(str(path)))
    checked("simulator", lambda: toolkit.init_runtime())
    simulated = SimulatedNetwork(toolkit, network)
    data = path.read_bytes()
    kinds = dtypes_of(data[:HEAD_BYTES])
    outputs = []
    for output in simulated.outputs:
        kind = kinds.get(output.name, "float16")
        dtype: Literal["int8", "float16"] = "int8" if kind == "int8" else "float16"
        scale, zero = _quantisation(ranges, output.name) if dtype == "int8" else (None, None)
        outputs.append(
            TensorRecord(
                name=output.name, shape=output.shape, dtype=dtype, scale=scale, zero_point=zero
            )
        )
    return Compiled(data, log, tuple(outputs)), simulated


def _quantisation(ranges: dict[str, Any], name: str) -> tuple[float | None, int | None]:
    """Of an output: the compiler may have put a conversion behind the tensor `NAME_int8`."""
    found = ranges.get(f"{name}_int8") or ranges.get(name)
    if not found or not found["scale"]:
        return None, None
    return float(found["scale"][0]), int(found["zero_point"][0])


def dtypes_of(head: bytes) -> dict[str, str]:
    """The type of each output, from the JSON that a compiled file begins with."""
    at = head.find(b'{"')
    if at < 0:
        return {}
    try:
        found, _ = json.JSONDecoder().raw_decode(head[at:].decode(errors="replace"))
    except ValueError:
        return {}
    return {name: str(entry.get("dtype", "")) for name, entry in found.items()}


def _read_ranges(folder: Path) -> dict[str, Any]:
    ranges: dict[str, Any] = _yaml().load(folder / f"{STEM}.quantization.cfg")
    return ranges


def _yaml() -> Any:
    from ruamel.yaml import YAML

    return YAML()
