"""NPUs that are not there: a fake rknnlite, and a librknnrt compiled from C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from edgefaced.inference.rockchip import Npu
from edgefaced.models.compiled import CompiledModel, GoldenRecord, NeedsRecord, TensorRecord
from edgefaced.models.compiled_files import CompiledNetwork
from edgefaced.models.golden import Golden

SOURCE = Path(__file__).with_name("librknnrt_double.c")
FILE = b"network: adds up and averages"
PICTURE: NDArray[np.uint8] = np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3)


def add_up(image: NDArray[np.uint8]) -> list[NDArray[Any]]:
    """What the network of `small_network` gives."""
    pixels = image.astype(np.float32)
    return [pixels.sum(axis=(1, 2)), pixels.mean(axis=(1, 2))]


def npu(library: Path | None, **more: Any) -> Npu:
    given = {"chip": "rk3588", "target": "rk3588", "cores": 3, "runtime": None, "driver": None}
    return Npu(library=library, **(given | more))


def small_network(folder: Path, *, target: str = "rk3588", runtime: str = "") -> CompiledNetwork:
    """Of 4x4 pixels, smaller than any that a record may name."""
    path = folder / "small.rknn"
    path.write_bytes(FILE)
    total, mean = add_up(PICTURE)
    model = CompiledModel.model_construct(
        id="small",
        target=target,
        kind="rknn",
        precision="int8",
        width=4,
        height=4,
        outputs=(
            TensorRecord(name="sum", shape=(1, 3), dtype="float32"),
            TensorRecord(name="mean", shape=(1, 3), dtype="float32"),
        ),
        needs=NeedsRecord(toolkit="2.3.2", runtime=runtime),
        golden=GoldenRecord(file="g.npz", size_bytes=1, sha256="0" * 64, lowest_cosine=0.99),
    )
    return CompiledNetwork(model, path, FILE, Golden(PICTURE, {"sum": total, "mean": mean}))


def build_double(folder: Path, **defines: str | int) -> Path:
    """A librknnrt without an NPU behind it; skips where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here for the double of librknnrt")
    library = folder / "librknnrt.so"
    words = [f"-D{name}={value}" for name, value in defines.items()]
    subprocess.run(
        [compiler, "-O1", "-Wall", "-shared", "-fPIC", *words, "-o", str(library), str(SOURCE)],
        check=True,
    )
    return library


def left_behind(library: Path) -> tuple[int, int]:
    """Contexts and memories that the double still holds."""
    double = ctypes.CDLL(str(library))
    return tuple(
        ctypes.c_int.in_dll(double, name).value for name in ("live_contexts", "live_memories")
    )  # type: ignore[return-value]  # two names give two numbers
