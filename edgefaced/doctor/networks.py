"""Whether the networks run where they should, give what they should, and as fast as they should."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from edgefaced.doctor.finding import Finding, Level, failed, fault, warning, well
from edgefaced.errors import ConfigError, DependencyMissing, ModelError
from edgefaced.inference.feeds import FREE
from edgefaced.inference.rockchip import Npu
from edgefaced.inference.serving import Serving
from edgefaced.models.golden import IMAGE
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.store import ModelStore
from edgefaced.protocols import InferenceBackend
from edgefaced.recognition.choose import Means, on_cpu, open_network
from edgefaced.sensors.npu import NpuReading
from edgefaced.types import U8

LOAD_SECONDS = 1.5
"""The driver's counter is of its last second."""

FEWEST_RUNS = 10


@dataclass(frozen=True, slots=True)
class Trial:
    """What is needed to try a network; `read_load` is the NPU's own counter."""

    store: ModelStore
    means: Means
    threads: int
    read_load: Callable[[], NpuReading | None]
    seconds: float = LOAD_SECONDS


def try_network(trial: Trial, spec: ModelSpec, size: int) -> Iterator[Finding]:
    """Opens it as the daemon would, with its self-test, and runs it for a moment."""
    area = f"network {spec.role}"
    told: list[Serving] = []
    means = Means(trial.means.section, trial.means.npu, told.append)
    before = trial.read_load()
    try:
        backend = open_network(trial.store, spec, size, trial.threads, means)
        try:
            milliseconds, during = _run(backend, size, trial)
        finally:
            backend.close()
    except (ModelError, DependencyMissing, ConfigError) as error:
        yield failed(area, error)
        return
    (serving,) = told
    proof = "" if serving.cosine is None else f", self-test {serving.cosine:.4f}"
    said = f"{spec.id} on {serving.where}, {serving.precision}{proof}, {milliseconds:.1f} ms"
    if serving.fallback:
        yield warning(area, f"{said}, AS A FALLBACK", serving.fallback)
        return
    memory = f", input: {serving.memory}" if serving.memory else ""
    why = f" ({serving.remark})" if serving.remark else ""
    yield well(area, f"{said}{memory}{why}")
    if serving.backend == "rknn":
        yield _load_moved(area, before, during)
        yield from _faster_than_the_cpu(area, trial, spec, size, milliseconds)


def _run(backend: InferenceBackend, size: int, trial: Trial) -> tuple[float, NpuReading | None]:
    """Median milliseconds of a run, and the NPU's load while it was busy."""
    sides = [size if side == FREE else side for side in backend.inputs[0].shape[1:3]]
    image: U8 = np.random.default_rng(1).integers(0, 256, (1, *sides, 3), dtype=np.uint8)
    seconds = trial.seconds if trial.read_load() is not None else 0.0
    times: list[float] = []
    end = time.monotonic() + seconds
    while len(times) < FEWEST_RUNS or time.monotonic() < end:
        start = time.perf_counter()
        backend.run({IMAGE: image})
        times.append(time.perf_counter() - start)
    return median(times) * 1000, trial.read_load()


def _load_moved(area: str, before: NpuReading | None, during: NpuReading | None) -> Finding:
    """The NPU's own word for that it worked."""
    if during is None or during.loads is None:
        why = "it shows no counter" if during is None else during.fault or "it shows no counter"
        return warning(
            area,
            f"whether the NPU worked cannot be seen: {why}",
            "the load counter is root's: `sudo edgefaced doctor`",
        )
    idle = 0.0 if before is None or before.loads is None else max(before.loads.values())
    busy = max(during.loads.values())
    clock = "" if during.hertz is None else f" at {during.hertz / 1e6:g} MHz ({during.governor})"
    if busy <= 0:
        return fault(
            area,
            f"the NPU's load counter stayed at 0 %{clock} while the network ran",
            "something else does its work: check librknnrt.so in /usr/lib",
        )
    return well(area, f"the NPU's load counter moved from {idle:.0%} to {busy:.0%}{clock}")


def _faster_than_the_cpu(
    area: str, trial: Trial, spec: ModelSpec, size: int, milliseconds: float
) -> Iterator[Finding]:
    """An NPU that is no faster than this CPU does not do what it is there for."""
    try:
        backend = open_network(trial.store, spec, size, trial.threads, on_cpu(trial.means))
        try:
            on_the_cpu, _ = _run(backend, size, Trial(trial.store, trial.means, 1, lambda: None))
        finally:
            backend.close()
    except (ModelError, DependencyMissing):
        return  # nothing is prepared for the CPU here: nothing to compare with
    said = f"{milliseconds:.1f} ms on the NPU, {on_the_cpu:.1f} ms on the CPU"
    if milliseconds < on_the_cpu:
        yield well(area, said)
    else:
        yield warning(
            area, said, "is its governor `powersave`, another program on it, the driver old?"
        )


def npu(found: Npu | None, reading: NpuReading | None, backend: str) -> Iterator[Finding]:
    """Which NPU there is, and whether what drives it is there."""
    if found is None:
        level = Level.FAULT if backend == "rknn" else Level.OK
        hint = 'inference.backend = "rknn" asks for one' if backend == "rknn" else ""
        yield Finding("npu", level, "this board has no NPU of Rockchip's", hint)
        return
    said = f"{found.chip}, {found.cores} core" + ("s" if found.cores > 1 else "")
    if found.library is None:
        yield fault(
            "npu", f"{said}: there is no librknnrt.so", "install Rockchip's runtime in /usr/lib"
        )
        return
    versions = f"librknnrt {found.runtime or 'of unknown version'}"
    versions += f", driver {found.driver or 'of unknown version (root may read it)'}"
    if reading is None:
        yield warning("npu", f"{said}, {versions}; the kernel shows no NPU", "is rknpu in it?")
    else:
        yield well("npu", f"{said}, {versions}")
