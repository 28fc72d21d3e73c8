"""On what was measured: figures without it are worth nothing."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort

from edgefaced import __version__
from edgefaced.inference.threads import usable_cores

CPU_INFO = Path("/proc/cpuinfo")
BOARD = Path("/proc/device-tree/model")


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor, cores that this process may use, memory, and the libraries that compute."""

    processor: str
    architecture: str
    usable_cores: int
    memory_bytes: int
    system: str
    python: str
    edgefaced: str
    onnxruntime: str
    numpy: str
    opencv: str


def this_machine() -> Machine:
    return Machine(
        processor=processor(_text(CPU_INFO), _text(BOARD)) or platform.processor() or "unknown",
        architecture=platform.machine(),
        usable_cores=usable_cores(),
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        edgefaced=__version__,
        onnxruntime=str(ort.__version__),
        numpy=np.__version__,
        opencv=str(cv2.__version__),
    )


def processor(cpu_info: str, board: str) -> str:
    """Name of the board where there is one (ARM), else of the processor; empty where unknown."""
    if board:
        return board.strip("\0\n ")
    for line in cpu_info.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
