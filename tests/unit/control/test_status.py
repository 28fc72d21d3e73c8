"""The status document has the shape that it promises, and reads well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from door_rigs import Rig, settings
from door_rigs import seen as decided
from idle_daemon import IdleDaemon
from pydantic import BaseModel, ConfigDict

from edgefaced.cli.status import rows
from edgefaced.control.status import status
from edgefaced.doors.attendant import Attendant
from edgefaced.errors import SensorError
from edgefaced.inference.serving import Register, Serving
from edgefaced.pipeline.tray import PictureWish, Tray
from edgefaced.protocols import CameraDescription, CameraWish
from edgefaced.sensors.npu import NpuReading
from edgefaced.types import PixelFormat
from edgefaced.vitals import LedgerVitals, SinkVitals


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CameraGives(Shape):
    name: str
    device: str
    width_px: int
    height_px: int
    pixel_format: str
    frames_per_second: float | None
    buffers: int
    dma: bool
    differences: list[str]


class CameraState(Shape):
    name: str
    up: bool
    restarts: int
    gives: CameraGives | None


class StageTimes(Shape):
    count: int
    median_ms: float | None
    p95_ms: float | None


class PaceNow(Shape):
    band: str
    cause: str
    frame_stride: int
    key_frame_interval: int
    resting: bool


class Motion(Shape):
    up: bool | None
    motions: int


class Npu(Shape):
    loads: dict[str, float] | None
    frequency_hertz: int | None
    governor: str | None
    fault: str | None


class Network(Shape):
    network: str
    size_px: int
    backend: str
    where: str
    precision: str
    memory: str | None
    remark: str | None
    self_test_cosine: float | None
    fallback: str | None


class Cpu(Shape):
    share: float | None
    idle_share: float | None
    active_share: float | None
    stages_ms_per_frame: dict[str, float]


class Sink(Shape):
    dropped: int
    failures: int
    waiting: int
    lasting: bool
    fault: str | None


class LedgerState(Shape):
    position: int
    recorded: int
    unrecorded: int
    lost: int
    waiting: int
    purged: int
    fault: str | None
    silent_seconds: float


class PictureState(Shape):
    kept: int
    kept_bytes: int
    missed: int
    fault: str | None


class DoorNow(Shape):
    name: str
    lockdown: bool
    held_seconds: float | None
    unlocked: bool
    is_open: bool | None
    lock: str
    granted: dict[str, int]
    refused: dict[str, int]
    pulses: int
    alarms: dict[str, int]


class Status(Shape):
    version: str
    pack: str
    uptime_seconds: float
    camera: CameraState
    frames_per_second: float | None
    looks_per_second: float | None
    frames: dict[str, int]
    frames_lost: dict[str, int]
    looks: dict[str, int]
    decisions: dict[str, int]
    embeddings: int
    faces_in_view: int
    stages: dict[str, StageTimes]
    bytes_copied_per_frame: int | None
    batches_displaced: int
    batches_stale: int
    pace: PaceNow
    temperature_celsius: float | None
    temperature_fault: str | None
    zones_celsius: dict[str, float]
    motion_sensor: Motion | None
    npu: Npu | None
    networks: list[Network]
    cpu: Cpu
    sinks: dict[str, Sink]
    ledger: LedgerState | None
    pictures: PictureState | None
    doors: list[DoorNow]
    gallery_templates: int
    oldest_beat_seconds: float


DESCRIPTION = CameraDescription(
    "USB Camera", "/dev/video0", 640, 480, PixelFormat.YUYV, "YUYV", 30.0, 4, True, CameraWish(1280)
)


def test_the_document_has_its_shape() -> None:
    daemon = IdleDaemon()
    seen = Status.model_validate(status(daemon.vitals()))
    assert seen.camera.gives is None
    assert seen.bytes_copied_per_frame == 12345 // 24
    assert (seen.cpu.share, seen.cpu.idle_share, seen.cpu.active_share) == (0.25, None, 0.25)
    costs = seen.cpu.stages_ms_per_frame
    assert {stage: ms for stage, ms in costs.items() if ms} == {"detect": 6.0}
    assert (seen.frames_per_second, seen.decisions) == (30.0, {"known": 2})
    assert (seen.pace.band, seen.temperature_celsius) == ("cool", 51.5)
    assert seen.zones_celsius == {"scripted": 51.5}
    assert seen.stages["detect"].count == 4
    assert (seen.motion_sensor, seen.npu) == (None, None)
    daemon.line.capturer.description = DESCRIPTION
    seen = Status.model_validate(status(daemon.vitals()))
    assert seen.camera.gives is not None
    assert seen.camera.gives.differences == ["1280xany asked, 640x480 given"]


def test_every_figure_is_said_in_words() -> None:
    daemon = IdleDaemon()
    daemon.line.capturer.description = DESCRIPTION
    said = dict(rows(status(daemon.vitals())))
    assert "7 templates" in said["pack"]
    assert said["camera"] == "door: up"
    assert "30 a second, 24 looked at" in said["frames"]
    assert "median 6.0 ms" in said["detect"]
    assert "embed" not in said
    assert said["pace"] == "cool (start), 51.5 °C"
    assert said["cpu"] == "25%, 25% with a face in view of one core"
    assert said["sink mqtt"] == "0 waiting, 0 lost, 0 refused"
    assert not {"motion", "npu"} & set(said)
    blind = dict(rows(status(IdleDaemon(SensorError("zone gone")).vitals())))
    assert blind["pace"] == "warm (unreadable), zone gone"


def test_what_runs_the_networks_is_said() -> None:
    daemon = IdleDaemon()
    daemon.line.networks = register = Register()
    register.report(
        Serving("scrfd", 320, "rknn", "rk3588 core 0", "int8", "NPU memory", cosine=0.999987654)
    )
    register.report(Serving("mbf", 112, "onnx", "cpu", "float32", fallback="librknnrt is old"))
    seen = Status.model_validate(status(daemon.vitals()))
    assert [n.self_test_cosine for n in seen.networks] == [0.99999, None]
    said = [words for key, words in rows(status(daemon.vitals())) if key == "network"]
    assert said == [
        "scrfd: rk3588 core 0, int8, input: NPU memory",
        "mbf: cpu, float32; FALLBACK: librknnrt is old",
    ]


def test_a_motion_sensor_and_an_npu_are_shown_where_they_are() -> None:
    npu = NpuReading({0: 0.37, 1: 0.0}, 1_000_000_000, "rknpu_ondemand", None)
    daemon = IdleDaemon(npu=npu, motion=True)
    seen = Status.model_validate(status(daemon.vitals()))
    assert seen.motion_sensor == Motion(up=None, motions=0)
    assert seen.npu is not None
    assert seen.npu.loads == {"0": 0.37, "1": 0.0}
    said = dict(rows(status(daemon.vitals())))
    assert said["npu"] == "core 0 37%, core 1 0%, 1000 MHz (rknpu_ondemand)"
    assert said["motion"] == "not listened to yet, motion began 0 times"
    shut = IdleDaemon(npu=NpuReading(None, 5 * 10**8, None, "load: Permission denied"))
    assert dict(rows(status(shut.vitals())))["npu"] == "500 MHz, load: Permission denied"


RECORDS = LedgerVitals(
    position=1234,
    recorded=30,
    unrecorded=0,
    lost=0,
    waiting=0,
    purged=5,
    fault=None,
    silent_seconds=0.2,
)


def test_where_the_ledger_is_and_what_ails_it() -> None:
    vitals = replace(IdleDaemon().vitals(), ledger=RECORDS)
    seen = Status.model_validate(status(vitals))
    assert seen.ledger is not None
    assert (seen.ledger.position, seen.ledger.purged, seen.ledger.fault) == (1234, 5, None)
    assert dict(rows(status(vitals)))["ledger"] == "at record 1234, 30 events recorded"
    full = replace(
        RECORDS, unrecorded=7, waiting=6, lost=1, fault="the disk is full", silent_seconds=9.0
    )
    assert dict(rows(status(replace(vitals, ledger=full))))["ledger"] == (
        "at record 1234, 30 events recorded, 7 delivered before that, 6 waiting in memory, 1 lost; "
        "NOTHING IS RECORDED: the disk is full; NO ANSWER FROM THE DISK for 9 s"
    )


def test_a_sink_that_is_away_says_why() -> None:
    away = SinkVitals(dropped=2, failures=9, waiting=40, lasting=True, fault="no route to broker")
    vitals = replace(IdleDaemon().vitals(), sinks={"mqtt": away})
    assert Status.model_validate(status(vitals)).sinks["mqtt"].fault == "no route to broker"
    assert dict(rows(status(vitals)))["sink mqtt"] == (
        "40 waiting, 2 lost, 9 refused: no route to broker"
    )


def test_pictures_and_doors_are_shown_where_they_are(tmp_path: Path) -> None:
    daemon = IdleDaemon()
    assert not {"pictures", "door front"} & set(dict(rows(status(daemon.vitals()))))
    rig = Rig(settings(), tmp_path / "doors.json")
    daemon.line.doors = Attendant(rig.house, tmp_path / "unlocked.json", tmp_path / "lines.json")
    daemon.line.tray = Tray(PictureWish(whole=False, longest_px=64))
    daemon.line.tray.kept, daemon.line.tray.kept_bytes = 3, 4_500_000
    said = dict(rows(status(daemon.vitals())))
    assert said["pictures"] == "3 kept, 4.5 MB"
    assert said["door front"] == "0 let in, 0 not"
    daemon.line.tray.missed, daemon.line.tray.fault = 2, "the disk is full"
    rig.house.contact_found("front", is_open=False)
    rig.house.contact("front", is_open=True)
    rig.ask()
    rig.rights = None
    rig.ask(decided(track=2))
    rig.house.lockdown(["front"], "by user 1000")
    rig.house.guard_down("killed")
    body = status(daemon.vitals())
    Status.model_validate(body)
    said = dict(rows(body))
    assert said["pictures"] == "3 kept, 4.5 MB, 2 missed; NONE IS KEPT: the disk is full"
    assert said["door front"] == (
        "open, LOCKDOWN, 1 let in, 1 not (1 rights cannot be read); ALARMS: 1 forced; LOCK: killed"
    )
