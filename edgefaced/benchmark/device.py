"""What a board really does: its networks alone and together, then the whole way for some minutes.

A first minute says little of a board: it gets hot and slows down. The verdict is that of the last
window of the sustained part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import metadata

from edgefaced.benchmark.crowd import empty_gallery
from edgefaced.benchmark.measure import WARM_UP, Plan, choose_picture, crowded_index, in_turn
from edgefaced.benchmark.pipeline import NetworkTimes, Passage, Pipeline, open_pipeline
from edgefaced.benchmark.quiet import Noise, Watch
from edgefaced.benchmark.spread import Spread, spread
from edgefaced.config.settings import Settings
from edgefaced.errors import ModelDamaged, SensorError
from edgefaced.inference.rockchip import Npu
from edgefaced.inference.serving import Serving
from edgefaced.models.compiled import CompiledModel
from edgefaced.models.compiled_files import compiled_models
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.store import ModelStore
from edgefaced.protocols import GalleryIndex
from edgefaced.recognition.choose import CPU_TARGET, Means
from edgefaced.sensors.npu import NpuReading, read_npu
from edgefaced.sensors.power import read_power
from edgefaced.sensors.thermal import ThermalSensor, ZoneSensor
from edgefaced.types import Frame, Role

NETWORKS_MS, REST_MS = 15.0, 5.0
"""The bars: detecting and embedding, and everything else, of 95 % of the frames, on a 3 TOPS NPU.
"""

WINDOW_SECONDS = 10.0
MOST_WINDOWS = 30
LITE = "rknn-toolkit-lite2"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The board at one moment. `celsius` is its hottest zone, None where none can be read; `watts`
    by meter.
    """

    celsius: float | None
    npu: NpuReading | None
    watts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Gauges:
    """Where conditions are read; a test has gauges of its own."""

    thermal: ThermalSensor
    read_npu: Callable[[], NpuReading | None] = read_npu
    read_power: Callable[[], Mapping[str, float]] = read_power

    def read(self) -> Conditions:
        try:
            celsius = self.thermal.read()
        except SensorError:
            celsius = None
        return Conditions(celsius, self.read_npu(), self.read_power())


@dataclass(frozen=True, slots=True)
class NetworkFigures:
    """One network: what runs it, its time alone, and what it costs by its compiled record.

    `toolkit` compiled it, "" where nobody did; `least_ms` are the bounds of boards by their names,
    empty where no record says any.
    """

    role: Role
    serving: Serving
    alone: Spread
    bytes_in: int
    bytes_out: int
    toolkit: str
    macs: int | None
    least_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Window:
    """Some seconds of the whole way, frame after frame, and the board at their end."""

    seconds: float
    frames: int
    networks: Spread
    rest: Spread
    total: Spread
    at_end: Conditions

    @property
    def frames_per_second(self) -> float:
        return self.frames / self.seconds


@dataclass(frozen=True, slots=True)
class DeviceFigures:
    """All of it. `lite` is the version of rknn-toolkit-lite2 here, None without it."""

    npu: Npu | None
    lite: str | None
    networks: tuple[NetworkFigures, NetworkFigures]
    back_to_back: Spread
    before: Conditions
    windows: tuple[Window, ...]
    noise: Noise

    @property
    def networks_hold(self) -> bool:
        return self.windows[-1].networks.p95_ms <= NETWORKS_MS

    @property
    def rest_holds(self) -> bool:
        return self.windows[-1].rest.p95_ms <= REST_MS

    @property
    def joules_a_frame(self) -> dict[str, float]:
        """By meter, over all windows; empty without one."""
        frames = sum(window.frames for window in self.windows)
        joules: dict[str, float] = {}
        for window in self.windows:
            for meter, watts in window.at_end.watts.items():
                joules[meter] = joules.get(meter, 0.0) + watts * window.seconds / frames
        return joules


def measure_device(
    plan: Plan,
    store: ModelStore,
    settings: Settings,
    npu: Npu | None,
    seconds: float,
    *,
    gauges: Gauges | None = None,
    told: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> DeviceFigures:
    """By the configured means, at the first size of `plan`; sustained for so many seconds.

    Raises what opening a network raises, and UsageError for a picture without exactly one face.
    """
    gauges = gauges or Gauges(ZoneSensor(settings.thermal.zones))
    served: list[Serving] = []
    (size,) = plan.sizes
    with ExitStack() as opened:
        pipeline = opened.enter_context(
            open_pipeline(
                store,
                plan.manifest,
                detector_size=size,
                threads=plan.threads,
                limits=settings.quality.limits(),
                means=Means(settings.inference, npu, served.append),
            )
        )
        _, frame = choose_picture(plan, store, pipeline)
        gallery = opened.enter_context(empty_gallery())
        index = crowded_index(gallery, pipeline, frame, plan.templates, settings)
        watch, before = Watch(), gauges.read()
        times = pipeline.run_networks(frame, plan.frames)
        windows = tuple(_sustained(pipeline, index, frame, seconds, gauges, told))
        return DeviceFigures(
            npu=npu,
            lite=_lite(),
            networks=(
                _figures(Role.DETECTOR, 0, plan, store, served, npu, times),
                _figures(Role.EMBEDDER, 1, plan, store, served, npu, times),
            ),
            back_to_back=times.back_to_back,
            before=before,
            windows=windows,
            noise=watch.noise(),
        )


def _figures(
    role: Role,
    place: int,
    plan: Plan,
    store: ModelStore,
    served: Sequence[Serving],
    npu: Npu | None,
    times: NetworkTimes,
) -> NetworkFigures:
    serving = served[place]
    records = _records(store, plan.manifest.of_role(role), serving.size)
    target = CPU_TARGET if npu is None or serving.backend != "rknn" else npu.target
    used = [m for m in records if (m.target, m.precision) == (target, serving.precision)]
    cost = next((m.cost for m in records if m.cost is not None), None)
    return NetworkFigures(
        role=role,
        serving=serving,
        alone=times.alone[place],
        bytes_in=times.bytes_in[place],
        bytes_out=times.bytes_out[place],
        toolkit=used[0].needs.toolkit if used else "",
        macs=None if cost is None else cost.macs,
        least_ms={} if cost is None else cost.least_ms,
    )


def _records(store: ModelStore, spec: ModelSpec, size: int) -> list[CompiledModel]:
    """Of whichever target: a network costs the same everywhere."""
    try:
        return [m for m in compiled_models(store.layout, spec) if m.size == size]
    except ModelDamaged:
        return []  # `models verify` says it; the network that runs was checked when it was opened


def _sustained(
    pipeline: Pipeline,
    index: GalleryIndex,
    frame: Frame,
    seconds: float,
    gauges: Gauges,
    told: Callable[[str, int, int], None],
) -> Iterator[Window]:
    frames = in_turn(frame)
    for _ in range(WARM_UP):
        pipeline.pass_through(next(frames), index)
    count = max(1, min(MOST_WINDOWS, int(seconds // WINDOW_SECONDS)))
    for number in range(count):
        told("sustained", number, count)
        passages: list[Passage] = []
        begun = time.monotonic()
        while not passages or time.monotonic() - begun < seconds / count:
            passages.append(pipeline.pass_through(next(frames), index))
        taken = time.monotonic() - begun
        yield Window(
            seconds=taken,
            frames=len(passages),
            networks=spread([(p.total_ns - p.outside_ns) / 1e6 for p in passages]),
            rest=spread([p.outside_ns / 1e6 for p in passages]),
            total=spread([p.total_ns / 1e6 for p in passages]),
            at_end=gauges.read(),
        )
    told("sustained", count, count)


def _lite() -> str | None:
    try:
        return metadata.version(LITE)
    except metadata.PackageNotFoundError:
        return None
