"""The whole examination, in the order in which a person would look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from edgefaced.checkup import Machine, check
from edgefaced.clock import is_synchronised
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.doctor import board, networks, records, running
from edgefaced.doctor.finding import Finding, Level, failed, well
from edgefaced.doctor.versions import versions
from edgefaced.errors import ConfigError, EdgefacedError, ModelDamaged
from edgefaced.inference.rockchip import Npu, find_npu
from edgefaced.inference.source import Needs
from edgefaced.inference.threads import default_threads
from edgefaced.models.catalogue import find_pack
from edgefaced.models.compiled_files import compiled_models
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore
from edgefaced.recognition.choose import Means
from edgefaced.recognition.on_npu import needs_of
from edgefaced.sensors.npu import NpuReading, read_npu
from edgefaced.sensors.thermal import ZoneSensor
from edgefaced.service.place import Place
from edgefaced.types import FACE_SIDE_PX, Role

GRAVE = ("camera", "models", "gallery", "presence")
"""What the machine lacks for these keys keeps the daemon from its work."""

LOOKED_AT_ELSEWHERE = ("thermal.zones", "gallery", "inference.backend", "inference.providers")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where this machine shows what it is; a test has one of its own."""

    machine: Machine = field(default_factory=Machine)
    service: Place = field(default_factory=Place)
    find_npu: Callable[[], Npu | None] = find_npu
    read_load: Callable[[], NpuReading | None] = read_npu
    synchronised: Callable[[], bool] = is_synchronised
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    unit_state: Callable[[], str | None] = running.state_of_the_unit
    load_seconds: float = networks.LOAD_SECONDS


def examine(
    read_settings: Callable[[], Settings],
    settings_file: Path,
    places: Places,
    around: Surroundings | None = None,
) -> Iterator[Finding]:
    """Findings as they are made; a broken configuration is one, and the defaults are then used."""
    around = around or Surroundings()
    try:
        settings = read_settings()
    except ConfigError as error:
        yield failed("configuration", error)
        settings = Settings()
    else:
        state = "can be read" if settings_file.exists() else "is absent: the defaults hold"
        yield well("configuration", f"{settings_file} {state}")
    yield from _configuration(settings, places, around)
    found = around.find_npu()
    yield from networks.npu(found, around.read_load(), settings.inference.backend)
    yield from _networks(settings, places, found, around)
    yield from board.permissions(around.machine.dev)
    yield from board.clock(around.synchronised, around.now())
    yield from board.storage(places)
    yield from board.thermal(ZoneSensor(settings.thermal.zones, zones=around.machine.zones))
    yield from records.gallery(places)
    yield from records.ledger(places)
    yield from running.service(around.service, around.unit_state)
    expected = around.service.installed
    yield from running.daemon(places.control_sockets(settings), expected=expected)


def _configuration(settings: Settings, places: Places, around: Surroundings) -> Iterator[Finding]:
    """What `config check` says; and that what it looks for is there."""
    try:
        cautions = check(settings, places, around.machine)
    except EdgefacedError as error:
        yield failed("configuration", error)
        return
    for caution in cautions:
        if caution.key not in LOOKED_AT_ELSEWHERE:
            area = caution.key.split(".")[0]
            level = Level.FAULT if area in GRAVE else Level.WARNING
            yield Finding(area, level, caution.message, caution.hint)
    lacking = {caution.key.split(".")[0] for caution in cautions}
    if "camera" not in lacking:
        yield well("camera", f"{settings.camera.name}: there")
    if "models" not in lacking:
        yield well("models", f"{settings.models.pack} is here and prepared")


def _networks(
    settings: Settings, places: Places, found: Npu | None, around: Surroundings
) -> Iterator[Finding]:
    """Both networks, as the daemon would open them."""
    store = ModelStore(places.models_dir)
    try:
        pack = find_pack(settings.models.pack, (store.layout.packs,))
    except EdgefacedError:
        yield from versions(found, ())
        return  # said with the configuration
    yield from versions(found, _compiled(store, pack, found))
    means = Means(settings.inference, found, lambda serving: None)
    threads = settings.inference.threads or default_threads()
    trial = networks.Trial(store, means, threads, around.read_load, around.load_seconds)
    sizes = {Role.DETECTOR: settings.detection.input_size_px, Role.EMBEDDER: FACE_SIDE_PX}
    for role, size in sizes.items():
        yield from networks.try_network(trial, pack.of_role(role), size)


def _compiled(store: ModelStore, pack: PackManifest, found: Npu | None) -> list[Needs]:
    if found is None:
        return []
    try:
        models = [compiled_models(store.layout, spec, found.target) for spec in pack.model]
        return [needs_of(model) for some in models for model in some]
    except ModelDamaged:
        return []  # said by the network itself
