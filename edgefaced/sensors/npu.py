"""How busy a Rockchip NPU is and how fast it runs, as its driver and the kernel's devfreq tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOAD_FILES = (Path("/sys/kernel/debug/rknpu/load"), Path("/proc/rknpu/load"))
"""Where the driver tells its load: debugfs, which only root may read, or procfs where it was built
so."""

DEVFREQ = Path("/sys/class/devfreq")

_CORES = re.compile(r"Core(\d+):\s*(\d+)%")
_ALONE = re.compile(r"NPU load:\s*(\d+)%")


@dataclass(frozen=True, slots=True)
class NpuReading:
    """`loads` is the busy share, 0..1, by core, of the driver's last second; `hertz` and `governor`
    are devfreq's. What cannot be read is None, and `fault` says why.
    """

    loads: dict[int, float] | None
    hertz: int | None
    governor: str | None
    fault: str | None


def read_npu(load_files: Sequence[Path] = LOAD_FILES, devfreq: Path = DEVFREQ) -> NpuReading | None:
    """The NPU now; None on a machine that shows none."""
    faults: list[str] = []
    loads = _loads(load_files, faults)
    nodes = sorted(devfreq.glob("*npu*"))
    if not nodes:
        # Without a node, a file that nobody may look for is no sign of an NPU.
        return None if loads is None else NpuReading(loads, None, None, None)
    hertz = _text(nodes[0] / "cur_freq", faults)
    governor = _text(nodes[0] / "governor", faults)
    if hertz is not None and not hertz.isdecimal():
        faults.append(f"{nodes[0] / 'cur_freq'}: {hertz!r} is no frequency")
        hertz = None
    return NpuReading(
        loads=loads,
        hertz=None if hertz is None else int(hertz),
        governor=governor,
        fault="; ".join(faults) or None,
    )


def _loads(files: Sequence[Path], faults: list[str]) -> dict[int, float] | None:
    """Of the first file that is there; why there is nothing goes to `faults`."""
    tried: list[str] = []
    for file in files:
        text = _text(file, tried)
        if text is None:
            continue
        loads = parse_load(text)
        if loads is None:
            faults.append(f"{file}: {text[:80]!r} is no load")
        return loads
    faults.append(tried[0] if tried else "no load is told")
    return None


def parse_load(text: str) -> dict[int, float] | None:
    """Busy shares by core from "NPU load:  Core0:  7%, Core1:  0%," or, of one core,
    "NPU load:  7%"; None for anything else.
    """
    found = {int(core): int(percent) for core, percent in _CORES.findall(text)}
    alone = _ALONE.search(text)
    if not found and alone is not None:
        found = {0: int(alone[1])}
    if not found or max(found.values()) > 100:
        return None
    return {core: percent / 100 for core, percent in found.items()}


def _text(file: Path, faults: list[str]) -> str | None:
    try:
        return file.read_bytes()[:4096].decode("ascii", "replace").strip()
    except OSError as error:
        faults.append(f"{file}: {error.strerror or error}")
        return None
