"""Networks on a Rockchip NPU, by rknn-toolkit-lite2.

That library raises nothing: each call answers 0 or -1, or None instead of outputs, and logs why.
Every answer is looked at here, also one that the library passes over: where the NPU fails to run a
network, it gives the answer of the run before, which is that of another face.

It leaves garbage in reference cycles behind, some 42 kB a call by its users' measurements, which
Python collects only when enough other objects come and go.
"""

from __future__ import annotations

import gc
import inspect
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from edgefaced.errors import DependencyMissing, ModelError, extra
from edgefaced.inference.feeds import check_feeds
from edgefaced.inference.rknn_faults import NEW_RUNTIME, check_chip, check_versions, fault_of
from edgefaced.inference.rockchip import Npu
from edgefaced.inference.source import CompiledSource
from edgefaced.protocols import Tensor, TensorSpec

RUNS_PER_SWEEP = 64
SWEEPS_PER_CLEANING = 64
"""The garbage of the last runs is swept often, which is cheap; what survived a sweep because it was
still in use is garbage soon after, and only a cleaning of everything finds that."""

LOG_ABOVE = "the library's own log, above, may say more; `edgefaced doctor` looks for the cause"


class Lite(Protocol):
    """As much of rknnlite.api.RKNNLite as is used."""

    rknn_runtime: Any

    def load_rknn(self, path: str) -> int: ...

    def init_runtime(self, *, core_mask: int) -> int: ...

    def inference(self, inputs: list[Tensor], **options: Any) -> list[Tensor] | None: ...

    def get_sdk_version(self) -> str | None: ...

    def release(self) -> None: ...


class WatchedRuntime:
    """The library's runtime object, and what its last run answered: its owner does not look."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self.answer: object = 0

    def run(self, *arguments: Any, **options: Any) -> Any:
        """The code, or a tuple that begins with it where a frame's number was asked for."""
        answer = self._runtime.run(*arguments, **options)
        self.answer = answer[0] if isinstance(answer, tuple) else answer
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


class RknnBackend:
    """One network in a context of its own, on the cores of `core_mask`; 0: the driver chooses.

    Outputs are copied out of the library's memory. Used and closed by the thread that opened it.
    Raises ModelError for what cannot be loaded, DependencyMissing without rknn-toolkit-lite2.
    """

    def __init__(self, source: CompiledSource, npu: Npu, *, core_mask: int) -> None:
        check_chip(source, npu)
        check_versions(source.needs, npu.runtime, npu.driver)
        self._inputs, self._outputs = source.inputs, source.outputs
        self._id = source.id
        self._thread = threading.get_ident()
        self._runs = 0
        lite = _new_lite()
        try:
            _load(lite, source, npu, core_mask)
        except BaseException:
            lite.release()
            raise
        lite.rknn_runtime = self._watched = WatchedRuntime(lite.rknn_runtime)
        self._lite: Lite | None = lite
        # Since 2.5: no new memory at every call. What it gives is copied in any case.
        reuses = "reuse_outputs" in inspect.signature(lite.inference).parameters
        self._options: dict[str, Any] = {"reuse_outputs": True} if reuses else {}

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        """The outputs are the caller's own."""
        if self._lite is None:
            raise ModelError("the network is closed", "open it again")
        check_thread(self._thread, self._id)
        check_feeds(self._inputs, feeds)
        picture = np.ascontiguousarray(feeds[self._inputs[0].name])
        # A new list each time: the library writes numbers into the one that it is given.
        given = self._lite.inference([picture], data_format=["nhwc"], **self._options)
        if given is None:
            raise ModelError(f"{self._id}: the NPU gave no answer", LOG_ABOVE)
        if (code := self._watched.answer) != 0:
            what = f"{self._id}: running the network"
            raise fault_of(code, what) if isinstance(code, int) else ModelError(f"{what}: {code}")
        answer = copied(given, self._outputs, self._id)
        del given
        self._sweep()
        return answer

    def close(self) -> None:
        lite, self._lite = self._lite, None
        self._watched = WatchedRuntime(None)
        if lite is not None:
            lite.release()
            del lite
            gc.collect()  # the runtime is part of such a cycle itself, and holds the NPU's memory

    def _sweep(self) -> None:
        self._runs += 1
        if self._runs % (RUNS_PER_SWEEP * SWEEPS_PER_CLEANING) == 0:
            gc.collect()
        elif self._runs % RUNS_PER_SWEEP == 0:
            gc.collect(1)


def check_thread(opener: int, model_id: str) -> None:
    """Raises ModelError in any other thread: contexts of the NPU are not shared."""
    if threading.get_ident() != opener:
        raise ModelError(f"{model_id} was opened by another thread", "open one in each thread")


def copied(given: Sequence[Tensor], specs: Sequence[TensorSpec], model_id: str) -> list[Tensor]:
    """Outputs in memory of their own. Raises ModelError where they are not what was promised."""
    if len(given) != len(specs):
        raise ModelError(
            f"{model_id}: the NPU gave {len(given)} outputs, its record has {len(specs)}",
            "convert the network again",
        )
    answer: list[Tensor] = []
    for value, spec in zip(given, specs, strict=True):
        if value.size != int(np.prod(spec.shape)):
            raise ModelError(
                f"{model_id}: output {spec.name!r} has {value.size} values, its record says "
                f"{list(spec.shape)}",
                "convert the network again",
            )
        answer.append(np.array(value, dtype=spec.dtype, copy=True).reshape(spec.shape))
    return answer


def _new_lite() -> Lite:
    try:
        from rknnlite.api import RKNNLite
    except ImportError as error:
        raise DependencyMissing(
            f"the NPU needs the package rknn-toolkit-lite2: {error}", extra("rockchip")
        ) from error
    lite: Lite = RKNNLite()
    return lite


def _load(lite: Lite, source: CompiledSource, npu: Npu, core_mask: int) -> None:
    if lite.load_rknn(str(source.path)) != 0:
        raise ModelError(f"{source.path}: rknn-toolkit-lite2 cannot read it", LOG_ABOVE)
    if npu.library is None:
        raise ModelError(
            "there is no librknnrt.so", "install Rockchip's runtime library in /usr/lib"
        )
    versions = f"librknnrt {npu.runtime or '?'}, driver {npu.driver or '?'}"
    try:
        taken = lite.init_runtime(core_mask=core_mask) == 0
    except (AttributeError, OSError, ValueError, RuntimeError) as error:
        # It does not guard all that it does: a call that an old library lacks ends here.
        said = f"{source.id}: the NPU does not take it ({versions}): {error}"
        raise ModelError(said, NEW_RUNTIME) from error
    if not taken:
        raise ModelError(f"{source.id}: the NPU does not take it ({versions})", LOG_ABOVE)
    if getattr(lite, "rknn_runtime", None) is None:
        raise ModelError(
            "this rknn-toolkit-lite2 does not show whether the NPU ran a network",
            'inference.zero_copy = "auto" does without it',
        )
    said = lite.get_sdk_version() or ""
    check_versions(source.needs, _after("API", said), _after("DRV", said))


def _after(word: str, said: str) -> str | None:
    """The first version that follows a word."""
    found = re.search(rf"{word}\D*?(\d+(?:\.\d+)+)", said)
    return None if found is None else found[1]
