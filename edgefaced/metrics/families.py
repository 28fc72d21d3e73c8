"""A snapshot of the daemon as Prometheus metrics. Nothing is counted here a second time.

No label carries a person: neither a name nor an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from edgefaced import __version__
from edgefaced.doors.tally import ALARMS, STRANGERS
from edgefaced.pipeline.figures import BUCKETS_SECONDS, Timing
from edgefaced.sensors.npu import NpuReading
from edgefaced.vitals import DoorVitals, LedgerVitals, Vitals

if TYPE_CHECKING:
    from prometheus_client import Metric

SKIPS = ("stride", "rest", "idle", "calm", "displaced", "repeated")
"""Why a captured frame was not looked at."""


def families(vitals: Vitals) -> Iterator[Metric]:
    """Every metric of the daemon; needs the package prometheus-client."""
    skipped = {reason: vitals.frames.get(reason, 0) for reason in SKIPS}
    results = {
        "looked_at": vitals.frames.get("looked_at", 0),
        "skipped": sum(skipped.values()),
    }
    yield _counter("frames", "Frames captured, by what became of them.", "result", results)
    yield _counter("frames_skipped", "Frames not looked at.", "reason", skipped)
    yield _counter("looks", "Runs of the detector: whole frame or close.", "kind", vitals.looks)
    yield _stages(vitals.stages)
    yield _counter("decisions", "Faces decided, by outcome.", "decision", vitals.decisions)
    yield _total("embeddings", "Faces embedded.", vitals.embeddings)
    yield _gauge("faces_in_view", "Faces that are followed now.", vitals.faces_in_view)
    yield _total("bytes_copied", "Bytes written between camera and networks.", vitals.bytes_copied)
    yield _total(
        "batches_displaced",
        "Batches of faces replaced by newer ones before they were recognised.",
        vitals.batches_displaced,
    )
    yield _total(
        "batches_stale",
        "Batches of faces whose frame had grown too old before all of them were recognised.",
        vitals.batches_stale,
    )
    yield from _surroundings(vitals)
    yield from _deliveries(vitals)
    yield _gauge("gallery_templates", "Templates that faces are compared with.", vitals.templates)
    yield _gauge(
        "watchdog_age_seconds",
        "Time since the stage that is furthest behind last made progress.",
        vitals.oldest_beat_seconds,
    )
    yield _counter("cpu_seconds", "Processor time used.", "activity", vitals.cpu_seconds)
    yield _counter(
        "stage_cpu_seconds",
        "Processor time of each stage's thread: it never held Python's lock for longer.",
        "stage",
        vitals.stage_cpu_seconds,
    )
    yield _counter(
        "activity_seconds", "Time with and without a face in view.", "activity", vitals.seconds
    )
    yield _info({"version": __version__, "pack": vitals.pack})


def _surroundings(vitals: Vitals) -> Iterator[Metric]:
    yield _gauge("camera_up", "1 while frames arrive.", float(vitals.camera_up))
    yield _total("camera_restarts", "Times the camera was opened again.", vitals.camera_restarts)
    yield _counter("camera_lost_frames", "Frames that never left it.", "reason", vitals.frames_lost)
    if vitals.zones:
        yield _gauge("temperature_celsius", "Of the zones watched.", vitals.zones, "zone")
    yield _gauge(
        "temperature_unreadable",
        "1 while a zone that is to be watched cannot be read, which counts as hot.",
        float(vitals.temperature_fault is not None),
    )
    yield from _npu(vitals.npu)
    fallen = {
        f"{serving.network}-{serving.size}": float(bool(serving.fallback))
        for serving in vitals.networks
    }
    yield _gauge(
        "inference_fallback", "1 where the CPU runs what should run elsewhere.", fallen, "network"
    )
    if vitals.motion is not None:
        up, motions = float(bool(vitals.motion.up)), vitals.motion.motions
        yield _gauge("motion_sensor_up", "1 while the motion sensor is listened to.", up)
        yield _total("motions", "Times that the motion sensor began to see motion.", motions)
    now = vitals.pace.band
    bands = {name: float(name == now.name) for name in vitals.bands}
    yield _gauge("thermal_band", "1 for the band in force.", bands, "band")
    yield _gauge("pace_frame_stride", "Every how many frames one is looked at.", now.frame_stride)


def _npu(npu: NpuReading | None) -> Iterator[Metric]:
    """What cannot be read is not on the page."""
    if npu is not None and npu.loads is not None:
        loads = {str(core): load for core, load in npu.loads.items()}
        yield _gauge("npu_load_ratio", "Busy share of the NPU.", loads, "core")
    if npu is not None and npu.hertz is not None:
        yield _gauge("npu_frequency_hertz", "Clock of the NPU.", npu.hertz)


def _deliveries(vitals: Vitals) -> Iterator[Metric]:
    dropped = {name: sink.dropped for name, sink in vitals.sinks.items()}
    failures = {name: sink.failures for name, sink in vitals.sinks.items()}
    waiting = {name: float(sink.waiting) for name, sink in vitals.sinks.items()}
    yield _counter("events_dropped", "Events that a sink will never get.", "sink", dropped)
    yield _gauge("sink_waiting", "Events that a sink has not taken yet.", waiting, "sink")
    yield _counter("sink_failures", "Deliveries that a sink refused.", "sink", failures)
    if vitals.ledger is not None:
        yield from _ledger(vitals.ledger)
    yield from _doors(vitals.doors)
    if vitals.pictures is not None:
        pictures = vitals.pictures
        yield _gauge("pictures", "Pictures of events that are kept.", pictures.kept)
        yield _gauge("pictures_bytes", "What they take of the disk.", pictures.kept_bytes)
        yield _total("pictures_missed", "Pictures that could not be kept.", pictures.missed)


def _ledger(ledger: LedgerVitals) -> Iterator[Metric]:
    yield _gauge("ledger_up", "1 while events are recorded.", float(ledger.fault is None))
    yield _gauge("ledger_position", "Place of the last record.", ledger.position)
    yield _gauge("ledger_waiting", "Events in memory that are to be recorded.", ledger.waiting)
    yield _gauge(
        "ledger_silent_seconds", "Time since the recording stage last moved.", ledger.silent_seconds
    )
    yield _total("events_recorded", "Events that the ledger has taken.", ledger.recorded)
    yield _total(
        "events_unrecorded", "Events delivered before they were recorded.", ledger.unrecorded
    )
    yield _total("events_lost", "Events that will never be recorded.", ledger.lost)
    yield _total("records_purged", "Records left out by retention.", ledger.purged)


def _doors(doors: Sequence[DoorVitals]) -> Iterator[Metric]:
    """Nothing where there are none. Whether somebody acted under duress is not on the page."""
    from prometheus_client.core import CounterMetricFamily

    if not doors:
        return
    now = {door.now.name: door.now for door in doors}
    opened = {name: float(door.is_open) for name, door in now.items() if door.is_open is not None}
    held = {name: float(door.held_seconds is not None) for name, door in now.items()}
    ready = {name: float(door.lock == "ready") for name, door in now.items() if door.lock != "none"}
    unlocked = {name: float(door.unlocked) for name, door in now.items()}
    lockdown = {name: float(door.lockdown) for name, door in now.items()}
    yield _gauge("door_open", "1 while its contact says so.", opened, "door")
    yield _gauge("door_unlocked", "1 while its relay is active.", unlocked, "door")
    yield _gauge("door_lockdown", "1 while nobody is let in.", lockdown, "door")
    yield _gauge("door_held_open", "1 while an operator holds it unlocked.", held, "door")
    yield _gauge("door_lock_ready", "0 while its lock does not answer.", ready, "door")
    pulses = {door.now.name: door.pulses for door in doors}
    yield _counter("door_pulses", "Times that its relay was made active.", "door", pulses)
    decisions = CounterMetricFamily(
        "edgefaced_door_decisions",
        "Whether somebody was let in, and why.",
        labels=["door", "result", "reason"],
    )
    alarms = CounterMetricFamily(
        "edgefaced_door_alarms",
        "Forced, held open, or strangers in front of it.",
        labels=["door", "alarm"],
    )
    for door in doors:
        for result, counted in (("granted", door.granted), ("refused", door.refused)):
            for reason, count in counted.items():
                decisions.add_metric([door.now.name, result, reason], count)
        for alarm in (*ALARMS, STRANGERS):
            alarms.add_metric([door.now.name, alarm], door.alarms.get(alarm, 0))
    yield decisions
    yield alarms


def _stages(timings: Mapping[str, Timing]) -> Metric:
    from prometheus_client.core import HistogramMetricFamily

    name = "edgefaced_stage_seconds"
    family = HistogramMetricFamily(name, "Duration of one round of a stage.", labels=["stage"])
    edges = [*(str(float(edge)) for edge in BUCKETS_SECONDS), "+Inf"]
    for stage, timing in timings.items():
        buckets = list(zip(edges, map(float, timing.cumulative), strict=True))
        family.add_metric([stage], buckets, timing.total)
    return family


def _counter(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(f"edgefaced_{name}", help_text, labels=[label])
    for key, value in values.items():
        family.add_metric([str(key)], value)
    return family


def _total(name: str, help_text: str, value: float) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    return CounterMetricFamily(f"edgefaced_{name}", help_text, value=value)


def _gauge(
    name: str, help_text: str, value: float | Mapping[str, float], label: str = ""
) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    if not isinstance(value, Mapping):
        return GaugeMetricFamily(f"edgefaced_{name}", help_text, value=value)
    family = GaugeMetricFamily(f"edgefaced_{name}", help_text, labels=[label])
    for key, one in value.items():
        family.add_metric([key], one)
    return family


def _info(labels: dict[str, str]) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily("edgefaced_build_info", "What runs; always 1.", labels=list(labels))
    family.add_metric(list(labels.values()), 1)
    return family
