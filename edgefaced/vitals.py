"""How a running daemon is at one moment: one snapshot, which status and metrics only write out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from edgefaced.config.settings import Settings
from edgefaced.core.thermal import Pace
from edgefaced.doors.attendant import Attendant
from edgefaced.doors.door import DoorStatus
from edgefaced.doors.house import House
from edgefaced.inference.serving import Register, Serving
from edgefaced.pipeline.figures import Timing
from edgefaced.pipeline.line import Line
from edgefaced.pipeline.meter import Meter, Rates
from edgefaced.pipeline.recorder import Recorder
from edgefaced.pipeline.thermostat import Thermostat
from edgefaced.pipeline.tray import Tray
from edgefaced.protocols import CameraDescription, Delivery
from edgefaced.sensors.npu import NpuReading


@dataclass(frozen=True, slots=True)
class SinkVitals:
    """Events that the sink will never get, tries it refused, and events that wait.

    `fault` is what it said last, None while it takes events; a `lasting` one gets what waits.
    """

    dropped: int
    failures: int
    waiting: int
    lasting: bool
    fault: str | None


@dataclass(frozen=True, slots=True)
class LedgerVitals:
    """Where the ledger is, and what it took of this line's events.

    `unrecorded` were delivered before the ledger could take them, `lost` will never be recorded;
    `waiting` are in memory. `fault` is why it takes nothing, `silent_seconds` how long ago its
    stage last moved: a disk that hangs says nothing.
    """

    position: int
    recorded: int
    unrecorded: int
    lost: int
    waiting: int
    purged: int
    fault: str | None
    silent_seconds: float


@dataclass(frozen=True, slots=True)
class DoorVitals:
    """A door now, and since the start of the line: how often it let somebody in or did not, by
    reason, how often its relay was active, and its alarms by kind.
    """

    now: DoorStatus
    granted: Mapping[str, int]
    refused: Mapping[str, int]
    pulses: int
    alarms: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PictureVitals:
    """Pictures of events that are kept now, those this line `missed`, and why, while that lasts."""

    kept: int
    kept_bytes: int
    missed: int
    fault: str | None


@dataclass(frozen=True, slots=True)
class MotionVitals:
    """A motion sensor: whether it is listened to, None before the first try, and its motions."""

    up: bool | None
    motions: int


@dataclass(frozen=True, slots=True, eq=False)
class Vitals:
    """Counters are since the line was started, which a reload of the configuration does anew.

    `camera` is None before the first frame; `motion` and `npu` are None where there is none,
    `pictures` where none are wanted and none are left;
    `celsius` (the hottest of `zones`) None where no temperature is known, and then
    `temperature_fault` says why unless none is to be read. `cpu_seconds` and `seconds` are since
    the start of the process, by "idle" and "active"; `stage_cpu_seconds` are those of each stage's
    thread. `networks` are those that are open.
    """

    pack: str
    uptime_seconds: float
    camera_name: str
    camera: CameraDescription | None
    camera_up: bool
    camera_restarts: int
    frames: dict[str, int]
    frames_lost: dict[str, int]
    looks: dict[str, int]
    decisions: dict[str, int]
    embeddings: int
    faces_in_view: int
    templates: int
    bytes_copied: int
    batches_displaced: int
    batches_stale: int
    stages: dict[str, Timing]
    sinks: dict[str, SinkVitals]
    ledger: LedgerVitals | None
    pictures: PictureVitals | None
    doors: tuple[DoorVitals, ...]
    pace: Pace
    bands: tuple[str, ...]
    celsius: float | None
    zones: Mapping[str, float]
    temperature_fault: str | None
    motion: MotionVitals | None
    npu: NpuReading | None
    networks: tuple[Serving, ...]
    oldest_beat_seconds: float
    rates: Rates
    cpu_seconds: dict[str, float]
    stage_cpu_seconds: dict[str, float]
    seconds: dict[str, float]


def vitals_of(
    line: Line,
    thermostat: Thermostat,
    meter: Meter,
    npu: NpuReading | None,
    settings: Settings,
    *,
    started_ns: int,
) -> Vitals:
    """Reads a running line from any thread; `started_ns` is when the process began, monotonic."""
    figures, now_ns = line.figures, time.monotonic_ns()
    recorder, beats = line.deliveries.recorder, line.crew.heartbeats
    watches = figures.stages | ({} if recorder is None else {"record": recorder.commits})
    return Vitals(
        pack=settings.models.pack,
        uptime_seconds=(now_ns - started_ns) / 1e9,
        camera_name=line.camera_name,
        camera=line.capturer.description,
        camera_up=figures.camera_up,
        camera_restarts=figures.camera_restarts,
        frames=dict(figures.frames),
        frames_lost=dict(figures.lost),
        looks=dict(figures.looks),
        decisions=dict(figures.decisions),
        embeddings=figures.embeddings,
        faces_in_view=figures.tracks,
        templates=figures.templates,
        bytes_copied=figures.bytes_copied,
        batches_displaced=figures.batches_displaced,
        batches_stale=figures.batches_stale,
        stages={stage: watch.snapshot() for stage, watch in watches.items()},
        sinks={
            name: SinkVitals(
                dropped=counts.lost,
                failures=counts.failures,
                waiting=counts.waiting,
                lasting=counts.delivery is Delivery.LASTING,
                fault=counts.fault or None,
            )
            for name, counts in line.deliveries.counts().items()
        },
        ledger=None if recorder is None else _ledger(recorder, now_ns - beats["record"].last_ns),
        pictures=_pictures(line.tray),
        doors=_doors(line.doors.house) if isinstance(line.doors, Attendant) else (),
        pace=line.pace.current,
        bands=tuple(band.name for band in settings.thermal.ladder()),
        celsius=thermostat.celsius,
        zones=thermostat.zones,
        temperature_fault=thermostat.fault,
        motion=None if line.motion is None else MotionVitals(line.motion.up, line.motion.motions),
        npu=npu,
        networks=line.networks.snapshot() if isinstance(line.networks, Register) else (),
        oldest_beat_seconds=max(
            ((now_ns - heart.last_ns) / 1e9 for heart in beats.values()), default=0.0
        ),
        rates=meter.rates,
        cpu_seconds=dict(meter.cpu_seconds),
        stage_cpu_seconds={stage: heart.cpu_seconds for stage, heart in beats.items()},
        seconds=dict(meter.seconds),
    )


def _doors(house: House) -> tuple[DoorVitals, ...]:
    tally = house.tally()

    def decided(door: str, *, granted: bool) -> dict[str, int]:
        found = tally.decisions.items()
        return {why: n for (name, yes, why), n in found if name == door and yes is granted}

    return tuple(
        DoorVitals(
            now=now,
            granted=decided(now.name, granted=True),
            refused=decided(now.name, granted=False),
            pulses=tally.pulses[now.name],
            alarms={kind: n for (name, kind), n in tally.alarms.items() if name == now.name},
        )
        for now in house.statuses()
    )


def _pictures(tray: Tray) -> PictureVitals | None:
    if tray.wish is None and not (tray.kept or tray.fault):
        return None
    return PictureVitals(tray.kept, tray.kept_bytes, tray.missed, tray.fault or None)


def _ledger(recorder: Recorder, silent_ns: int) -> LedgerVitals:
    return LedgerVitals(
        position=recorder.position,
        recorded=recorder.recorded,
        unrecorded=recorder.unrecorded,
        lost=recorder.lost,
        waiting=recorder.waiting,
        purged=recorder.purged,
        fault=recorder.fault or None,
        silent_seconds=silent_ns / 1e9,
    )
