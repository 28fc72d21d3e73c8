"""The only composition root: settings in, a running line out, and the loop that watches over it.

The main thread does no work of the pipeline. Once a second it reads the temperature, feeds the
watchdog if every stage has moved, and tells systemd how things are; signals wake it at once.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType

from edgefaced.camera.choose import open_camera
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.control.commands import Commands
from edgefaced.control.contract import EnrolRequest
from edgefaced.control.hub import EventHub
from edgefaced.control.peer import rule_of_this_process
from edgefaced.control.server import ControlServer
from edgefaced.core.policy import DecisionPolicy
from edgefaced.core.thermal import ThermalGovernor
from edgefaced.errors import ConfigError, EdgefacedError
from edgefaced.events import Trouble
from edgefaced.gallery.index import open_index
from edgefaced.gallery.store import Gallery
from edgefaced.gpio.choose import open_input
from edgefaced.gpio.lines import InputLine
from edgefaced.inference.threads import usable_cores
from edgefaced.metrics.server import MetricsServer
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import PackManifest
from edgefaced.models.state import outdated
from edgefaced.models.store import ModelStore
from edgefaced.pipeline.crew import Failure, Straggler
from edgefaced.pipeline.judge import Knowledge
from edgefaced.pipeline.line import Line, Parts
from edgefaced.pipeline.meter import Meter, Reading
from edgefaced.pipeline.tap import FaceTap
from edgefaced.pipeline.thermostat import Thermostat
from edgefaced.pipeline.watch import Watcher
from edgefaced.protocols import Delivery, SinkPlan, SinkPlans
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.recognition.embedder import NetworkEmbedder
from edgefaced.recognition.network import opened_network
from edgefaced.recognition.threshold import threshold_for
from edgefaced.sensors.npu import read_npu
from edgefaced.sensors.thermal import ThermalSensor
from edgefaced.sinks.names import GalleryNames
from edgefaced.sitting import Sitting, sitting_of
from edgefaced.supervisor import Supervisor
from edgefaced.types import FACE_SIDE_PX, Role
from edgefaced.vitals import Vitals, vitals_of

TICK_SECONDS = 1.0
STOP_SECONDS = 8.0
"""Deadline of a stop; systemd's TimeoutStopSec is longer."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: 0 asked to stop or a replay's end, otherwise the reason."""

    exit_code: int
    failures: tuple[Failure, ...] = ()
    stragglers: tuple[Straggler, ...] = ()


def parts_of(
    settings: Settings,
    places: Places,
    sinks: SinkPlans,
    tap: FaceTap,
) -> Parts:
    """Everything a line needs, by the settings; nothing is opened yet.

    Raises ModelMissing or ModelDamaged for a pack that is not here whole, ConfigError for settings
    that do not fit.
    """
    store = ModelStore(places.models_dir)
    manifest = find_pack(settings.models.pack, (store.layout.packs,))
    detector, embedder = manifest.of_role(Role.DETECTOR), manifest.of_role(Role.EMBEDDER)
    # Two networks run at the same time, in two threads: each gets half of the cores.
    threads = settings.inference.threads or max(1, min(4, usable_cores() // 2))
    camera = settings.camera

    @contextmanager
    def open_watcher() -> Iterator[Watcher]:
        # One network of free size serves both looks; each look has a buffer of its own.
        size, score = whole_size(settings), settings.detection.score_threshold
        with opened_network(store, detector, size, threads) as network:
            yield Watcher(
                NetworkDetector(network, detector, size=size, score_threshold=score),
                NetworkDetector(
                    network, detector, size=close_size(manifest), score_threshold=score
                ),
            )

    @contextmanager
    def open_knowledge() -> Iterator[Knowledge]:
        with (
            opened_network(store, embedder, FACE_SIDE_PX, threads) as network,
            Gallery.open(places.gallery_file, places.key_file, create=True) as gallery,
        ):
            mind = NetworkEmbedder(network, embedder)
            index = open_index(gallery, mind.model_id, settings.gallery.index)
            try:
                yield Knowledge(
                    mind,
                    index,
                    lambda size: threshold_for(settings.recognition, embedder, size).threshold,
                )
            finally:
                index.close()

    # What is missing is said here, before anything starts and before a reload stops what runs.
    for spec, size in (
        (detector, whole_size(settings)),
        (detector, close_size(manifest)),
        (embedder, FACE_SIDE_PX),
    ):
        store.prepared(spec, size)
    threshold_for(settings.recognition, embedder, 1)
    return Parts(
        camera_name=camera.device or camera.kind,
        open_camera=lambda: open_camera(camera),
        open_watcher=open_watcher,
        open_knowledge=open_knowledge,
        sinks=sinks,
        colour_order=embedder.input.colour_order,
        limits=settings.quality.limits(),
        policy=DecisionPolicy(settings.policy.limits(settings.recognition.minimum_margin)),
        open_motion=motion_of(settings),
        replay=camera.kind == "replay",
        lossless=camera.kind == "replay" and camera.replay_pace == "fast",
        tap=tap,
    )


def motion_of(settings: Settings) -> Callable[[], InputLine] | None:
    """Takes the line of the motion sensor, where there is one."""
    section = settings.presence
    chip, line = section.motion_chip, section.motion_line
    if chip is None or line is None:
        return None
    return lambda: open_input(
        section.motion_chip_kind, chip, line, active_low=section.motion_active_low
    )


def whole_size(settings: Settings) -> int:
    """Side of the detector's input for whole looks."""
    return settings.detection.input_size_px


def close_size(manifest: PackManifest) -> int:
    """Side of the detector's input for close looks: the smallest that the pack prepares."""
    return min(manifest.of_role(Role.DETECTOR).input.sizes or (whole_size(Settings()),))


class Daemon:
    """Runs one line until it is told to stop, a stage fails, or a replay is over."""

    def __init__(
        self,
        read_settings: Callable[[], Settings],
        places: Places,
        sinks: SinkPlans,
        sensor: Callable[[Settings], ThermalSensor],
        supervisor: Supervisor,
    ) -> None:
        """Raises what reading the settings and `parts_of` raise."""
        self._read_settings = read_settings
        self._places = places
        self._hub, self._tap = EventHub(), FaceTap()
        self._sinks = {**sinks, "control": SinkPlan(lambda: self._hub, Delivery.MOMENTARY)}
        self._sensor = sensor
        self._supervisor = supervisor
        self._started_ns = time.monotonic_ns()
        self._wake = threading.Event()
        self._stopping = False
        self._reloading = False
        self.settings = read_settings()
        self.line = self._new_line(self.settings)
        self.thermostat = self._new_thermostat()
        self.meter = Meter()

    def run(self) -> Ending:
        """Blocks until the end; the caller's thread must be the main one, for the signals."""
        before = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        }
        try:
            # What serves others outlives the line: a reload keeps them connected.
            with ExitStack() as services:
                self._open_services(services)
                self.line.start()
                self._watch_over()
                return self._end()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def stop(self) -> None:
        """Ends `run` soon; from any thread or signal handler."""
        self._stopping = True
        self._wake.set()

    def reload(self) -> None:
        """Reads the settings again soon; from any thread or signal handler."""
        self._reloading = True
        self._wake.set()

    def vitals(self) -> Vitals:
        """How things are; from any thread."""
        return vitals_of(
            self.line,
            self.thermostat,
            self.meter,
            read_npu(),
            self.settings,
            started_ns=self._started_ns,
        )

    def _open_services(self, services: ExitStack) -> None:
        """A service that cannot be had is said, and nobody is kept from their door for it."""
        metrics, control = self.settings.metrics, self.settings.control
        wanted: dict[str, Callable[[], AbstractContextManager[object]]] = {}
        if metrics.port is not None:
            port = metrics.port
            wanted["metrics"] = lambda: MetricsServer(self.vitals, metrics.address, port)
        wanted["control"] = lambda: ControlServer(
            self._places.control_sockets(self.settings)[0],
            Commands(self.vitals, self.reload, self._hub, self._open_names, self._sitting).answer,
            rule_of_this_process(control.group_access),
        )
        for where, service in wanted.items():
            try:
                services.enter_context(service())
            except ConfigError as error:
                self.line.postbox.announce(Trouble(where, str(error)))
        services.callback(self._hub.end)

    def _sitting(self, request: EnrolRequest) -> Sitting:
        return sitting_of(
            self.settings,
            self._places,
            self._tap,
            lambda: hindrance(self.line),
            extend=request.add,
            allow_duplicate=request.allow_duplicate,
        )

    def _open_names(self) -> GalleryNames:
        return GalleryNames(self._places.gallery_file, self._places.key_file)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.reload()
        else:
            self.stop()

    def _watch_over(self) -> None:
        fed_ns = 0
        while not self._stopping and self.line.crew.working() and not self.line.crew.failures:
            self.thermostat.tick(self.line, time.monotonic())
            self._read_meter()
            crew = self.line.crew
            if crew.moved_since(0) and self._camera_has_answered():
                self._supervisor.ready()
            if crew.moved_since(fed_ns):
                fed_ns = time.monotonic_ns()
                self._supervisor.alive()
            self._supervisor.status(status_line(self.line))
            self._wake.wait(TICK_SECONDS)
            self._wake.clear()
            if self._reloading:
                self._reloading = False
                self._take_new_settings()

    def _camera_has_answered(self) -> bool:
        """A first frame, or a first failure: an absent camera is reported, not waited for."""
        return self.line.capturer.first_frame.is_set() or self.line.figures.camera_restarts > 0

    def _read_meter(self) -> None:
        figures = self.line.figures
        captured, looked_at = figures.frames["captured"], figures.frames["looked_at"]
        reading = Reading(time.monotonic(), time.process_time(), captured, looked_at)
        self.meter.tick(reading, active=figures.tracks > 0)

    def _take_new_settings(self) -> None:
        """The new configuration, or the old one and a word about why."""
        self._supervisor.reloading()
        try:
            settings = self._read_settings()
            changed = settings != self.settings
            line = self._new_line(settings) if changed else None
        except EdgefacedError as error:
            self.line.postbox.announce(Trouble("configuration", f"not taken: {error}"))
            self._supervisor.ready()
            return
        if line is not None:
            stragglers = self.line.stop(STOP_SECONDS)
            if stragglers:
                self._stopping = True
                return
            old, self.settings, self.line = self.settings, settings, line
            if (old.metrics, old.control) != (settings.metrics, settings.control):
                detail = "[metrics] and [control] are taken with the next start"
                line.postbox.announce(Trouble("configuration", detail))
            self.thermostat = self._new_thermostat()
            self.line.start()
        self._supervisor.ready()

    def _new_line(self, settings: Settings) -> Line:
        line = Line(parts_of(settings, self._places, self._sinks, self._tap))
        store = ModelStore(self._places.models_dir)
        manifest = find_pack(settings.models.pack, (store.layout.packs,))
        if words := outdated(manifest, store):
            line.postbox.announce(Trouble("models", words))
        return line

    def _new_thermostat(self) -> Thermostat:
        section = self.settings.thermal
        return Thermostat(
            self._sensor(self.settings),
            ThermalGovernor(section.ladder()),
            latency_budget_ms=section.latency_budget_ms,
        )

    def _end(self) -> Ending:
        self._supervisor.stopping()
        stragglers = tuple(self.line.stop(STOP_SECONDS))
        failures = tuple(self.line.crew.failures)
        code = 0
        if failures:
            error = failures[0].error
            code = (
                error.exit_code if isinstance(error, EdgefacedError) else EdgefacedError.exit_code
            )
        elif stragglers:
            code = EdgefacedError.exit_code
        return Ending(code, failures, stragglers)


def hindrance(line: Line) -> str:
    """Why nobody can be seen at the moment, whatever they do; empty where there is no reason."""
    if not line.figures.camera_up:
        return "the camera gives no pictures"
    return "the board is too hot and rests" if line.pace.current.band.rest else ""


def status_line(line: Line) -> str:
    """One line for `systemctl status`."""
    figures, pace = line.figures, line.pace.current
    camera = "camera up" if figures.camera_up else "NO CAMERA"
    detect = figures.stages["detect"].snapshot().median
    speed = "" if detect is None else f", a look takes {detect * 1000:.1f} ms"
    return f"{camera}, pace {pace.band.name}, {figures.tracks} faces in view{speed}"
