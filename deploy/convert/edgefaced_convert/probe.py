"""Measures which operators the compiler gives to the NPU, and which it leaves to the CPU.

Each small network is compiled in a process of its own: some operators kill the compiler.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from edgefaced.models.prepare.onnx_file import write_graph
from edgefaced_convert.layer_table import Layer, layers_in
from edgefaced_convert.probe_graphs import Probe, probes
from edgefaced_convert.toolchain import (
    ConvertError,
    checked,
    list_pictures,
    open_toolkit,
    toolkit_version,
)

LONGEST_SECONDS = 120
NPU, CPU, FAILS = "npu", "cpu", "fails"


@dataclass(frozen=True, slots=True)
class Measured:
    """Where one operator went, for each target."""

    operator: str
    variant: str
    places: dict[str, str]


def measure(targets: Sequence[str]) -> Iterator[Measured]:
    """Raises DependencyMissing without the toolkit."""
    open_toolkit()  # imported once, before the processes part
    for probe in probes():
        places = {target: _in_a_process(probe, target) for target in targets}
        yield Measured(probe.operator, probe.variant, places)


def as_toml(measured: Sequence[Measured]) -> str:
    """The text of `measured.toml`."""
    lines = [
        "# Written by `python -m edgefaced_convert probe`: where the compiler put each operator.",
        "",
        f'toolkit = "{toolkit_version()}"',
    ]
    for one in measured:
        places = "".join(f', {target} = "{place}"' for target, place in one.places.items())
        lines += ["", "[[case]]", f'operator = "{one.operator}"', f'variant = "{one.variant}"']
        lines.append(f"places = {{ {places.removeprefix(', ')} }}")
    return "\n".join(lines) + "\n"


def _in_a_process(probe: Probe, target: str) -> str:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_compile, args=(probe, target, theirs))
    process.start()
    theirs.close()
    process.join()
    try:
        return str(ours.recv()) if ours.poll() else FAILS
    except EOFError:
        return FAILS
    finally:
        ours.close()


def _compile(probe: Probe, target: str, answer: Connection) -> None:
    signal.alarm(LONGEST_SECONDS)
    draw = np.random.default_rng(2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        (folder / "probe.onnx").write_bytes(write_graph(probe.graph()))
        shape = (1, 3, probe.side, probe.side)
        listed = list_pictures([draw.integers(0, 255, shape).astype(np.uint8)] * 2, folder)
        toolkit = open_toolkit()
        means = {"mean_values": [[127.5] * 3], "std_values": [[128.0] * 3]}
        try:
            checked("config", lambda: toolkit.config(target_platform=target, **means) or 0)
            checked("load", lambda: toolkit.load_onnx(model="probe.onnx"))
            _, log = checked(
                "build", lambda: toolkit.build(do_quantization=True, dataset=str(listed))
            )
        except ConvertError:
            answer.send(FAILS)
            return
    answer.send(CPU if any(_is_its(layer, probe) for layer in layers_in(log)) else NPU)


def _is_its(layer: Layer, probe: Probe) -> bool:
    """Whether a layer on the CPU speaks of the operator, not of what leads to it."""
    others = {node.op for node in probe.nodes if node.op != probe.operator}
    if "Flatten" in others:
        others.add("Reshape")
    return layer.on_cpu and layer.kind not in others
