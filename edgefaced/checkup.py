"""Whether a configuration is in order, and whether this machine has what it asks for.

What is wrong in the file is an error: nothing starts with it. What the machine lacks is a caution:
it may be plugged in, pulled or mended while the daemon runs, and a door is not kept shut for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from edgefaced.attendance.zone import zone_of
from edgefaced.camera.choose import check_camera
from edgefaced.camera.v4l2.faults import who_holds
from edgefaced.camera.v4l2.kernel import LinuxKernel
from edgefaced.camera.v4l2.names import Node, find_node, nodes
from edgefaced.camera.v4l2.search import first_camera
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.doors.plan import cautions, plans_of
from edgefaced.errors import (
    CameraError,
    ConfigError,
    DependencyMissing,
    EdgefacedError,
    GpioError,
    ModelError,
    ModelMissing,
    SensorError,
    extra,
)
from edgefaced.gpio.choose import open_chip
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import PackManifest
from edgefaced.models.state import model_state, outdated
from edgefaced.models.store import ModelStore
from edgefaced.recognition.choose import check_network, means_more_than_the_cpu, means_of
from edgefaced.recognition.threshold import threshold_for
from edgefaced.sensors.thermal import ZONES, ZoneSensor
from edgefaced.sinks.choose import lacking
from edgefaced.types import FACE_SIDE_PX, Role


@dataclass(frozen=True, slots=True)
class Machine:
    """Where this machine shows its devices."""

    dev: Path = Path("/dev")
    video: Path = Path("/sys/class/video4linux")
    zones: Path = ZONES


@dataclass(frozen=True, slots=True)
class Caution:
    """What the machine lacks for a key of the configuration, and the way out."""

    key: str
    message: str
    hint: str = ""


def check(settings: Settings, places: Places, machine: Machine | None = None) -> list[Caution]:
    """Cautions for a configuration that is in order.

    Raises ConfigError where it is not, and ManifestError or StorageError where the manifest of its
    pack cannot be read.
    """
    machine = machine or Machine()
    _judge_values(settings)
    store = ModelStore(places.models_dir)
    manifest = _pack(settings, store)
    return [
        *_models(settings, manifest, store),
        *_inference(settings, manifest, store),
        *_camera(settings, machine),
        *_sensors(settings, machine),
        *_key(places),
        *_metrics(settings),
        *_attendance(settings),
        *(_caution(name, error) for name, error in lacking(settings, places)),
        *_pictures(settings),
        *_doors(settings),
    ]


def _judge_values(settings: Settings) -> None:
    """What one key alone does not show."""
    settings.policy.limits(settings.recognition.minimum_margin)
    settings.thermal.ladder()
    plans_of(settings)
    zone_of(settings.attendance.time_zone)
    if settings.camera.kind == "replay":
        check_camera(settings.camera)


def _attendance(settings: Settings) -> Iterator[Caution]:
    section = settings.attendance
    if not section.enabled:
        return
    if section.liveness == "required":
        words = "nobody is recorded: this version has no liveness check"
    else:
        words = '"not required": a photograph of somebody may check them in or out'
    yield Caution("attendance.liveness", words)


def _pictures(settings: Settings) -> Iterator[Caution]:
    section = settings.pictures
    if section.of:
        whole = "all that the camera sees" if section.what == "frame" else "the face"
        yield Caution(
            "pictures.of",
            f"pictures ({whole}) of {', '.join(section.of)} are kept for {section.keep_days:g} "
            f"days, {section.keep_pictures} at most",
            "tell the people whom it concerns; they are encrypted with the gallery's key",
        )


def _pack(settings: Settings, store: ModelStore) -> PackManifest:
    name, size = settings.models.pack, settings.detection.input_size_px
    try:
        manifest = find_pack(name, (store.layout.packs,))
    except ModelMissing as error:
        raise ConfigError(f"models.pack = {name!r}: no such model pack", error.hint) from error
    sizes = manifest.of_role(Role.DETECTOR).input.sizes
    if sizes and size not in sizes:
        raise ConfigError(
            f"detection.input_size_px = {size}: the pack {name} is not prepared for it",
            f"one of {', '.join(map(str, sizes))}",
        )
    threshold_for(settings.recognition, manifest.of_role(Role.EMBEDDER), 1)
    return manifest


def _models(settings: Settings, manifest: PackManifest, store: ModelStore) -> Iterator[Caution]:
    states = [model_state(spec, store) for spec in manifest.model]
    lacking = [state.spec.id for state in states if state.record is None]
    if lacking:
        yield Caution(
            "models.pack",
            f"{manifest.name} is not ready on this machine: {', '.join(lacking)}",
            f"`edgefaced models pull {manifest.name}`",
        )
    elif words := outdated(manifest, store):
        yield Caution("models.pack", words)


def _inference(settings: Settings, manifest: PackManifest, store: ModelStore) -> Iterator[Caution]:
    """What an NPU or a provider lacks; the CPU's own files are the pack's affair."""
    section, means = settings.inference, means_of(settings.inference)
    sizes = {Role.DETECTOR: settings.detection.input_size_px, Role.EMBEDDER: FACE_SIDE_PX}
    for role, size in sizes.items():
        spec = manifest.of_role(role)
        if means_more_than_the_cpu(store, spec, means):
            try:
                check_network(store, spec, size, means)
            except (ModelError, DependencyMissing) as error:
                key = "providers" if section.providers else "backend"
                yield _caution(f"inference.{key}", error)


def _camera(settings: Settings, machine: Machine) -> Iterator[Caution]:
    section = settings.camera
    try:
        if section.kind == "v4l2":
            if section.device is None:
                known = nodes(dev=machine.dev, sysfs=machine.video)
            else:
                node = find_node(section.device, dev=machine.dev, sysfs=machine.video)
                known = (Node(node, section.device, 0),)
            first_camera(LinuxKernel(), known, who_holds)
        else:
            check_camera(section)
    except (CameraError, DependencyMissing) as error:
        yield _caution("camera.device" if section.device else "camera.kind", error)


def _sensors(settings: Settings, machine: Machine) -> Iterator[Caution]:
    try:
        ZoneSensor(settings.thermal.zones, zones=machine.zones).read()
    except SensorError as error:
        yield _caution("thermal.zones", error)
    presence = settings.presence
    if presence.motion_chip is not None:
        try:
            open_chip(presence.motion_chip_kind, presence.motion_chip).close()
        except (GpioError, DependencyMissing) as error:
            yield _caution("presence.motion_chip", error)


def _doors(settings: Settings) -> Iterator[Caution]:
    for name, door in settings.doors.items():
        if door.chip is not None:
            try:
                open_chip(door.chip_kind, door.chip).close()
            except (GpioError, DependencyMissing) as error:
                yield _caution(f"doors.{name}.chip", error)
    yield from (Caution("doors", words) for words in cautions(settings))
    receivers = (settings.mqtt, settings.webhook, settings.command, settings.lines)
    if settings.doors and not any(receiver.duress for receiver in receivers):
        yield Caution(
            "groups.duress",
            "no receiver is told of duress alarms: they are in `edgefaced events list` only",
            'duress = true for a receiver of "access" that nobody at the door can see',
        )


def _key(places: Places) -> Iterator[Caution]:
    if places.gallery_file.exists() and not places.key_file.exists():
        yield Caution(
            "gallery",
            f"the gallery's key {places.key_file} is missing",
            "nobody is recognised without it",
        )


def _metrics(settings: Settings) -> Iterator[Caution]:
    if settings.metrics.port is not None and find_spec("prometheus_client") is None:
        yield Caution(
            "metrics.port",
            "metrics need the package prometheus-client",
            extra("metrics"),
        )


def _caution(key: str, error: EdgefacedError) -> Caution:
    return Caution(key, error.message, error.hint)
