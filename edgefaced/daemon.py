"""The daemon: settings in, a running line out, and the loop that watches over it.

The main thread does no work of the pipeline. Once a second it reads the temperature, feeds the
watchdog if every stage has moved, and tells systemd how things are; signals wake it at once.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from types import FrameType

from edgefaced.assembly import parts_of
from edgefaced.camera.choose import check_camera
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.control.commands import Commands
from edgefaced.control.contract import EnrolRequest
from edgefaced.control.hub import EventHub
from edgefaced.control.peer import rule_of_this_process
from edgefaced.control.server import ControlServer
from edgefaced.control.snapshots import Pictures
from edgefaced.core.thermal import ThermalGovernor
from edgefaced.doors.attendant import Attendant
from edgefaced.doors.house import House
from edgefaced.doors.opening import attendant_of, doorkeeper_of
from edgefaced.errors import ConfigError, EdgefacedError
from edgefaced.events import Trouble
from edgefaced.metrics.server import MetricsServer
from edgefaced.models.catalogue import find_pack
from edgefaced.models.state import outdated
from edgefaced.models.store import ModelStore
from edgefaced.outlets import book_of, buttons_of, keeper_of, recording_of, sinks_of
from edgefaced.pipeline.crew import Failure, Straggler
from edgefaced.pipeline.line import Line, Parts
from edgefaced.pipeline.meter import Meter, Reading
from edgefaced.pipeline.recorder import Backlog
from edgefaced.pipeline.tap import FaceTap
from edgefaced.pipeline.thermostat import Thermostat
from edgefaced.protocols import Delivery, SinkPlan, SinkPlans
from edgefaced.sensors.npu import read_npu
from edgefaced.sensors.thermal import ThermalSensor
from edgefaced.sinks.names import GalleryNames
from edgefaced.sitting import Sitting, sitting_of
from edgefaced.supervisor import Supervisor
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


PartsMaker = Callable[[Settings, Places, SinkPlans, FaceTap], Parts]


class Daemon:
    """Runs one line until it is told to stop, a stage fails, or a replay is over."""

    def __init__(
        self,
        read_settings: Callable[[], Settings],
        places: Places,
        sinks: SinkPlans,
        sensor: Callable[[Settings], ThermalSensor],
        supervisor: Supervisor,
        parts: PartsMaker = parts_of,
        *,
        tick_seconds: float = TICK_SECONDS,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        """Raises what reading the settings and `parts` raise."""
        self._read_settings = read_settings
        self._places = places
        self._hub, self._tap, self._backlog = EventHub(), FaceTap(), Backlog()
        self._book = book_of(places)
        self._sinks = {**sinks, "control": SinkPlan(lambda: self._hub, Delivery.MOMENTARY)}
        self._sensor = sensor
        self._supervisor = supervisor
        self._parts = parts
        self._tick_seconds, self._stop_seconds = tick_seconds, stop_seconds
        self._started_ns = time.monotonic_ns()
        # Not an Event: a signal handler may interrupt whoever holds its lock, and this has none.
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._stopping = False
        self._reloading = False
        self._before: Settings | None = None
        """What to go back to should a reloaded line fail before its first frame."""
        self._hanging: tuple[Straggler, ...] = ()
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
        self._wake.put(None)

    def reload(self) -> None:
        """Reads the settings again soon; from any thread or signal handler."""
        self._reloading = True
        self._wake.put(None)

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
            Commands(
                self.vitals,
                self.reload,
                self._hub,
                self._open_names,
                self._sitting,
                self._pictures(),
                self._house,
            ).answer,
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

    def _pictures(self) -> Pictures:
        """Of the line that runs at the moment, by the settings of the moment."""
        return Pictures(
            allowed=lambda: self.settings.control.allow_snapshots,
            take=lambda timeout: self.line.frames.take(timeout),
            announce=lambda happening: self.line.postbox.announce(happening),
        )

    def _house(self) -> House | None:
        """The doors of the line that runs at the moment."""
        doors = self.line.doors
        return doors.house if isinstance(doors, Attendant) else None

    def _open_names(self) -> GalleryNames:
        return GalleryNames(self._places.gallery_file, self._places.key_file)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.reload()
        else:
            self.stop()

    def _watch_over(self) -> None:
        fed_ns = 0
        while not self._stopping and self._works():
            self.thermostat.tick(self.line, time.monotonic())
            self._read_meter()
            self.line.deliveries.look()
            crew = self.line.crew
            if crew.moved_since(0) and self._camera_has_answered():
                self._before = None
                self._supervisor.ready()
            if crew.moved_since(fed_ns):
                fed_ns = time.monotonic_ns()
                self._supervisor.alive()
            self._supervisor.status(status_line(self.line))
            with suppress(Empty):
                self._wake.get(timeout=self._tick_seconds)
            if self._reloading:
                self._reloading = False
                self._supervisor.reloading()
                self._take_new_settings()

    def _works(self) -> bool:
        """Whether the line runs, be it by going back to the settings of before."""
        crew = self.line.crew
        if not crew.failures:
            return crew.working()
        before, self._before = self._before, None
        if before is None:
            return False
        failed = crew.failures[0]
        try:
            line = self._new_line(before)
        except EdgefacedError:
            return False
        if not self._change_lines(before, line):
            return False
        detail = f"not taken: {failed.stage}: {failed.error}"
        line.postbox.announce(Trouble("configuration", detail))
        return True

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
        old = self.settings
        try:
            settings = self._read_settings()
            line = self._new_line(settings) if settings != old else None
        except EdgefacedError as error:
            self.line.postbox.announce(Trouble("configuration", f"not taken: {error}"))
            return
        if line is None or not self._change_lines(settings, line):
            return
        self._before = old
        # What alone is asked for at every picture is taken at once.
        now = {"allow_snapshots": settings.control.allow_snapshots}
        control = old.control.model_copy(update=now)
        if (old.metrics, control) != (settings.metrics, settings.control):
            detail = "[metrics] and [control] are taken with the next start"
            line.postbox.announce(Trouble("configuration", detail))

    def _change_lines(self, settings: Settings, line: Line) -> bool:
        """Whether the new line runs instead of the old one: not where that hangs or all stops."""
        self._hanging = tuple(self.line.stop(self._stop_seconds))
        if self._hanging or self._stopping:
            self._stopping = True
            return False
        self.settings, self.line = settings, line
        self.thermostat = self._new_thermostat()
        line.start()
        return True

    def _new_line(self, settings: Settings) -> Line:
        check_camera(settings.camera)
        stop = threading.Event()
        doors = attendant_of(settings, self._places, self._book)
        house = None if doors is None else doors.house
        sinks = sinks_of(settings, self._places, self._sinks, stop, house)
        if doors is not None:
            sinks = {**sinks, "doors": doorkeeper_of(doors, self._places)}
        keeper = keeper_of(settings, self._places)
        if keeper is not None:
            sinks = {**sinks, "pictures": keeper.plan()}
        parts = self._parts(settings, self._places, sinks, self._tap)
        if keeper is not None:
            parts = replace(parts, tray=keeper.tray)
        if house is not None:
            parts = replace(parts, again=house.again)
        recording = recording_of(settings, self._places, self._backlog)
        buttons = buttons_of(settings)
        line = Line(replace(parts, recording=recording, doors=doors, buttons=buttons, stop=stop))
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
        stragglers = self._hanging or tuple(self.line.stop(self._stop_seconds))
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
    recorder = line.deliveries.recorder
    fault = "" if recorder is None else recorder.fault
    ledger = f", NOTHING IS RECORDED: {fault}" if fault else ""
    return f"{camera}, pace {pace.band.name}, {figures.tracks} faces in view{speed}{ledger}"
