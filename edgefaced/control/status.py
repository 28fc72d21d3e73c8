"""The answer to "how are you?": the daemon's vitals as a document. Times in milliseconds."""

from __future__ import annotations

from dataclasses import asdict

from edgefaced import __version__
from edgefaced.control.contract import Document
from edgefaced.inference.serving import Serving
from edgefaced.pipeline.figures import Timing
from edgefaced.protocols import CameraDescription
from edgefaced.sensors.npu import NpuReading
from edgefaced.vitals import DoorVitals, LedgerVitals, MotionVitals, Vitals


def status(vitals: Vitals) -> Document:
    """Plain JSON values; None is "not known (yet)"."""
    rates, pace = vitals.rates, vitals.pace
    looked_at = vitals.frames.get("looked_at", 0)
    return {
        "version": __version__,
        "pack": vitals.pack,
        "uptime_seconds": round(vitals.uptime_seconds, 1),
        "camera": {
            "name": vitals.camera_name,
            "up": vitals.camera_up,
            "restarts": vitals.camera_restarts,
            "gives": None if vitals.camera is None else _camera(vitals.camera),
        },
        "frames_per_second": _rounded(rates.captured_per_second),
        "looks_per_second": _rounded(rates.looked_at_per_second),
        "frames": {str(kind): count for kind, count in vitals.frames.items()},
        "frames_lost": {str(kind): count for kind, count in vitals.frames_lost.items()},
        "looks": {str(kind): count for kind, count in vitals.looks.items()},
        "decisions": {str(kind): count for kind, count in vitals.decisions.items()},
        "embeddings": vitals.embeddings,
        "faces_in_view": vitals.faces_in_view,
        "stages": {stage: _timing(timing) for stage, timing in vitals.stages.items()},
        "bytes_copied_per_frame": vitals.bytes_copied // looked_at if looked_at else None,
        "batches_displaced": vitals.batches_displaced,
        "batches_stale": vitals.batches_stale,
        "pace": {
            "band": pace.band.name,
            "cause": pace.cause.value,
            "frame_stride": pace.band.frame_stride,
            "key_frame_interval": pace.band.key_frame_interval,
            "resting": pace.band.rest,
        },
        "temperature_celsius": vitals.celsius,
        "temperature_fault": vitals.temperature_fault,
        "zones_celsius": dict(vitals.zones),
        "motion_sensor": _motion(vitals.motion),
        "npu": _npu(vitals.npu),
        "networks": [_network(serving) for serving in vitals.networks],
        "cpu": {
            "share": _rounded(rates.cpu_share, 3),
            "idle_share": _share(vitals, "idle"),
            "active_share": _share(vitals, "active"),
            "stages_ms_per_frame": _stage_costs(vitals),
        },
        "sinks": {
            name: {
                "dropped": sink.dropped,
                "failures": sink.failures,
                "waiting": sink.waiting,
                "lasting": sink.lasting,
                "fault": sink.fault,
            }
            for name, sink in vitals.sinks.items()
        },
        "ledger": None if vitals.ledger is None else _ledger(vitals.ledger),
        "pictures": None if vitals.pictures is None else asdict(vitals.pictures),
        "doors": [_door(door) for door in vitals.doors],
        "gallery_templates": vitals.templates,
        "oldest_beat_seconds": round(vitals.oldest_beat_seconds, 3),
    }


def _ledger(ledger: LedgerVitals) -> Document:
    return {
        "position": ledger.position,
        "recorded": ledger.recorded,
        "unrecorded": ledger.unrecorded,
        "lost": ledger.lost,
        "waiting": ledger.waiting,
        "purged": ledger.purged,
        "fault": ledger.fault,
        "silent_seconds": round(ledger.silent_seconds, 3),
    }


def _door(door: DoorVitals) -> Document:
    return {
        **asdict(door.now),
        "granted": dict(door.granted),
        "refused": dict(door.refused),
        "pulses": door.pulses,
        "alarms": dict(door.alarms),
    }


def _camera(camera: CameraDescription) -> Document:
    return {
        "name": camera.name,
        "device": camera.device,
        "width_px": camera.width,
        "height_px": camera.height,
        "pixel_format": camera.native,
        "frames_per_second": camera.frames_per_second,
        "buffers": camera.buffers,
        "dma": camera.dma,
        "differences": list(camera.differences()),
    }


def _motion(motion: MotionVitals | None) -> Document | None:
    return None if motion is None else {"up": motion.up, "motions": motion.motions}


def _npu(npu: NpuReading | None) -> Document | None:
    if npu is None:
        return None
    loads = npu.loads
    return {
        "loads": None if loads is None else {str(core): load for core, load in loads.items()},
        "frequency_hertz": npu.hertz,
        "governor": npu.governor,
        "fault": npu.fault,
    }


def _network(serving: Serving) -> Document:
    return {
        "network": serving.network,
        "size_px": serving.size,
        "backend": serving.backend,
        "where": serving.where,
        "precision": serving.precision,
        "memory": serving.memory or None,
        "remark": serving.remark or None,
        "self_test_cosine": _rounded(serving.cosine, 5),
        "fallback": serving.fallback or None,
    }


def _stage_costs(vitals: Vitals) -> Document:
    captured = vitals.frames.get("captured", 0)
    costs = vitals.stage_cpu_seconds.items()
    return {stage: round(cpu * 1000 / captured, 3) for stage, cpu in costs} if captured else {}


def _timing(timing: Timing) -> Document:
    return {
        "count": timing.count,
        "median_ms": None if timing.median is None else round(timing.median * 1000, 2),
        "p95_ms": None if timing.p95 is None else round(timing.p95 * 1000, 2),
    }


def _share(vitals: Vitals, activity: str) -> float | None:
    """Of one core, while there was somebody ("active") or nobody ("idle")."""
    seconds = vitals.seconds[activity]
    return round(vitals.cpu_seconds[activity] / seconds, 3) if seconds > 0 else None


def _rounded(value: float | None, digits: int = 1) -> float | None:
    return None if value is None else round(value, digits)
