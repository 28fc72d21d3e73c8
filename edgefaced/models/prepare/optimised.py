"""onnxruntime's own optimised form of a network for this machine."""

from __future__ import annotations

import platform
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

from edgefaced.errors import ModelContractError, StorageError
from edgefaced.inference.onnx import ONNXRUNTIME_ERRORS, PROVIDER, one_line, session_options
from edgefaced.models.prepare.graph import Graph, Node, Value
from edgefaced.models.prepare.onnx_file import OLDEST_OPSET, write_graph

BLOCKED_DOMAIN = "com.microsoft.nchwc"
CPU_INFO = Path("/proc/cpuinfo")

# What onnxruntime's kernels ask the processor for when they choose a layout.
X86_UNITS = ("avx", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni")
ARM_UNITS = ("asimd", "asimddp", "asimdhp", "fphp", "i8mm", "bf16", "sve", "sve2", "sme")


def machine_fingerprint() -> str:
    """Architecture and vector units of this machine: what an optimised file depends on."""
    try:
        text = CPU_INFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return fingerprint(platform.machine(), text)


def fingerprint(architecture: str, cpu_info: str) -> str:
    """The same, from the text of /proc/cpuinfo."""
    for line in cpu_info.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return " ".join(
                [architecture, *sorted({*X86_UNITS, *ARM_UNITS}.intersection(value.split()))]
            )
    return architecture


def channel_block(threads: int) -> int:
    """Channels in a block of the layout in which onnxruntime runs convolutions on this machine.

    16 with AVX-512, 8 on other x86, 1 where it has no such layout. Found by having it optimise a
    convolution of 33 channels, which it pads to 32 and one block.
    """
    import onnx

    weight = np.ones((33, 32, 3, 3), np.float32)
    probe = Graph(
        opset=OLDEST_OPSET,
        inputs=[Value("x", (1, 32, 16, 16), weight.dtype)],
        outputs=[Value("y", (1, 33, 14, 14), weight.dtype)],
        nodes=[Node("Conv", ["x", "w"], ["y"])],
        constants={"w": weight},
    )
    graph = onnx.load_model_from_string(optimise(write_graph(probe), threads)).graph
    if not any(node.domain == BLOCKED_DOMAIN for node in graph.node):
        return 1
    (padded,) = (tensor.dims[0] for tensor in graph.initializer if len(tensor.dims) == 4)
    return int(padded) - 32


def optimise(portable: bytes, threads: int) -> bytes:
    """The network as onnxruntime would run it here; loads without optimising again.

    Raises ModelContractError where onnxruntime refuses the network, StorageError where it cannot
    write.
    """
    try:
        with TemporaryDirectory(prefix="edgefaced-") as folder:
            file = Path(folder) / "optimised.onnx"
            options = session_options(threads, optimise=True)
            options.optimized_model_filepath = str(file)
            ort.InferenceSession(portable, options, providers=[PROVIDER])
            return file.read_bytes()
    except (OSError, state.InvalidProtobuf) as error:
        # The network itself is well-formed, we wrote it: what failed is writing it once more.
        raise StorageError(
            f"onnxruntime cannot write its optimised network: {one_line(error)}",
            "free some space, or set TMPDIR",
        ) from error
    except ONNXRUNTIME_ERRORS as error:
        raise ModelContractError(
            f"onnxruntime {ort.__version__} refuses the prepared network: {one_line(error)}",
            "this version of edgefaced cannot prepare this network",
        ) from error
