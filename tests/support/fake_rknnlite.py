"""A module like rknnlite, as far as our back end goes: its answers, its memory, its garbage.

Like the real one it raises nothing, answers -1 or None, keeps its output memory for the next call,
and leaves each call's objects behind in a reference cycle.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

Network = Callable[[NDArray[np.uint8]], Sequence[NDArray[Any]]]
GARBAGE_BYTES = 42_000


class Garbage:
    """What one call leaves behind: an object that only the collector can free."""

    alive: ClassVar[int] = 0
    most: ClassVar[int] = 0

    def __init__(self) -> None:
        self.itself = self
        self.weight = bytearray(GARBAGE_BYTES)
        Garbage.alive += 1
        Garbage.most = max(Garbage.most, Garbage.alive)

    def __del__(self) -> None:  # how else would a test see that it is gone
        Garbage.alive -= 1


@dataclass
class Board:
    """The NPU behind the module: networks by the bytes of their files, and what goes wrong."""

    networks: Mapping[bytes, Network]
    sdk: str | None = "RKNN VERSION:\n  API: 2.3.0 (c949ad8@2024-11-07)\n  DRV: rknn drv: 0.9.8\n"
    refuses_files: bool = False
    refuses_contexts: bool = False
    lacks: str = ""
    """A call that an old librknnrt lacks, which the real one does not guard against."""
    fails_at: int = -1
    """The call that answers None."""
    run_code: int | None = 0
    """What the NPU's run answers; the real `inference` does not look at it."""
    hides_runtime: bool = False
    """Whether it is a version of which the runtime object is not to be seen."""
    open_masks: list[int] = field(default_factory=list)
    """Core masks of the contexts that are open."""
    calls: list[str] = field(default_factory=list)
    reuses: bool = True
    """Whether it is a version that can be told to reuse its output memory."""


def install(monkeypatch: pytest.MonkeyPatch, board: Board) -> Board:
    """Makes `from rknnlite.api import RKNNLite` give the fake, for one test."""

    class RKNNLite:
        def __init__(self, verbose: bool = False) -> None:
            self._file: bytes | None = None
            self._network: Network | None = None
            self._mask = 0
            self._memory: list[NDArray[Any]] = []
            self._last: Garbage | None = None
            self._count = 0
            self._answer: list[NDArray[Any]] = []
            self.rknn_runtime: Any = None

        def load_rknn(self, path: str) -> int:
            board.calls.append("load_rknn")
            if board.refuses_files or not Path(path).exists():
                return -1
            self._file = Path(path).read_bytes()
            return 0

        def init_runtime(self, *, core_mask: int = 0) -> int:
            board.calls.append("init_runtime")
            if board.refuses_contexts or self._file is None or self._file not in board.networks:
                return -1
            if board.lacks:
                raise AttributeError(f"librknnrt.so: undefined symbol: {board.lacks}")
            self._network, self._mask = board.networks[self._file], core_mask
            board.open_masks.append(core_mask)
            if not board.hides_runtime:
                self.rknn_runtime = Runtime(self)
            return 0

        def run_network(self, image: NDArray[np.uint8]) -> int | None:
            if board.run_code == 0 and self._network is not None:
                self._answer = [np.asarray(value) for value in self._network(image)]
            return board.run_code

        def get_sdk_version(self) -> str | None:
            return board.sdk

        def _infer(
            self, inputs: list[NDArray[Any]], data_format: list[Any], *, reuse: bool
        ) -> list[NDArray[Any]] | None:
            board.calls.append("inference")
            self._count += 1
            if self._network is None or self._count - 1 == board.fails_at:
                return None
            if data_format != ["nhwc"]:
                return None
            data_format[0] = 1  # as the real one does: the list serves once
            (image,) = inputs
            if image.dtype != np.uint8 or not image.flags.c_contiguous:
                return None
            self._last = Garbage()
            if self.rknn_runtime is None:
                self.run_network(image)
            else:
                self.rknn_runtime.set_inputs([image])
                self.rknn_runtime.run(False)
            # Whatever that answered: after a run that failed this is the answer of the one before.
            if not reuse:
                return [value.copy() for value in self._answer]
            if not self._memory:
                self._memory = [np.empty_like(value) for value in self._answer]
            for place, value in zip(self._memory, self._answer, strict=True):
                place[...] = value
            return self._memory

        def release(self) -> None:
            board.calls.append("release")
            if self._network is not None:
                board.open_masks.remove(self._mask)
            self._network = None

    class Runtime:
        def __init__(self, lite: RKNNLite) -> None:
            self._lite, self._image = lite, np.zeros(0, np.uint8)

        def set_inputs(self, inputs: list[NDArray[np.uint8]]) -> None:
            (self._image,) = inputs

        def run(self, get_frame_id: bool) -> int | None:
            return self._lite.run_network(self._image)

    class Old(RKNNLite):
        def inference(self, inputs: Any, data_format: Any = None) -> Any:
            return self._infer(inputs, data_format, reuse=False)

    class New(RKNNLite):
        def inference(
            self, inputs: Any, data_format: Any = None, reuse_outputs: bool = False
        ) -> Any:
            return self._infer(inputs, data_format, reuse=reuse_outputs)

    Garbage.alive = Garbage.most = 0
    package, api = ModuleType("rknnlite"), ModuleType("rknnlite.api")
    vars(api)["RKNNLite"] = New if board.reuses else Old
    monkeypatch.setitem(sys.modules, "rknnlite", package)
    monkeypatch.setitem(sys.modules, "rknnlite.api", api)
    return board
