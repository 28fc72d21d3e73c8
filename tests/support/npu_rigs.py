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
from edgefaced.inference.source import CompiledSource, Needs
from edgefaced.protocols import TensorSpec

SOURCE = Path(__file__).with_name("librknnrt_double.c")
FILE = b"network: adds up and averages"
PICTURE: NDArray[np.uint8] = np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3)


def add_up(image: NDArray[np.uint8]) -> list[NDArray[Any]]:
    """What the network of `small_network` gives."""
    pixels = image.astype(np.float32)
    return [pixels.sum(axis=(1, 2)), pixels.mean(axis=(1, 2))]


def npu(library: Path | None, **more: Any) -> Npu:
    given: dict[str, Any] = {
        "chip": "rk3588",
        "target": "rk3588",
        "cores": 3,
        "runtime": None,
        "driver": None,
    }
    return Npu(library=library, **(given | more))


def small_network(folder: Path, *, target: str = "rk3588", runtime: str = "") -> CompiledSource:
    """Of 4x4 pixels."""
    path = folder / "small.rknn"
    path.write_bytes(FILE)
    row = np.dtype(np.float32)
    return CompiledSource(
        id="small",
        target=target,
        needs=Needs("small", runtime, ""),
        path=path,
        data=FILE,
        inputs=(TensorSpec("image", (1, 4, 4, 3), np.dtype(np.uint8)),),
        outputs=(TensorSpec("sum", (1, 3), row), TensorSpec("mean", (1, 3), row)),
    )


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
