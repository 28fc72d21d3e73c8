"""What runs each network at the moment, and whether that is what was meant to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

CAMERA_BUFFER = "camera buffer"
"""Where the camera left them: nothing is copied."""
NPU_MEMORY = "NPU memory"
"""They are drawn into it: resized and converted in the one pass over the camera's pixels."""
COPIED = "copied"
"""Made in our memory, and copied into the NPU's."""


@dataclass(frozen=True, slots=True)
class Serving:
    """One open network. `fallback` is why it runs on the CPU although it should not, "" where not.

    `where` is "cpu", a provider or a chip with its cores; `memory` is where an NPU reads its
    pictures, one of the three below, "" on a CPU, and `remark` says why it is not a shorter way.
    `cosine` is the self-test's lowest, None where there was none.
    """

    network: str
    size: int
    backend: str
    where: str
    precision: str
    memory: str = ""
    remark: str = ""
    cosine: float | None = None
    fallback: str = ""


class Register:
    """The networks of one line, as they were opened; written and read by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, int], Serving] = {}
        self._announce: Callable[[str], None] | None = None

    def report(self, serving: Serving) -> None:
        """Takes the place of what served this network before; a fallback is announced."""
        with self._lock:
            self._open[serving.network, serving.size] = serving
            announce = self._announce
        if serving.fallback and announce is not None:
            announce(fallen(serving))

    def placed(self, network: str, size: int, memory: str, remark: str) -> None:
        """From now on the pictures of this network are read somewhere else."""
        with self._lock:
            before = self._open[network, size]
            self._open[network, size] = replace(before, memory=memory, remark=remark)

    def connect(self, announce: Callable[[str], None]) -> None:
        """Where fallbacks are announced, those that were before included."""
        with self._lock:
            self._announce = announce
            before = [serving for serving in self._open.values() if serving.fallback]
        for serving in before:
            announce(fallen(serving))

    def snapshot(self) -> tuple[Serving, ...]:
        with self._lock:
            return tuple(self._open.values())


def fallen(serving: Serving) -> str:
    """That a network does not run on what it should, and why."""
    return f"{serving.network} runs on the CPU: {serving.fallback}"
