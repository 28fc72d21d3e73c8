"""The whole daemon and its faults: impossible reloads, signals at any moment, a full disk."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import cv2
import numpy as np
import pytest
from coloured import ANN, PATIENCE_SECONDS, Cast, ColourDetector, scene
from installation import Installation
from plugged_camera import Machine
from scripted_camera import ScriptedCamera, Step
from staged_daemon import Staged
from tiny_pack import TinyPack

from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.errors import (
    ConfigError,
    EdgefacedError,
    ModelMissing,
    PictureError,
)
from edgefaced.events import CameraChanged, DecisionMade, Happening, Trouble
from edgefaced.ledger.store import Ledger
from edgefaced.protocols import Camera
from edgefaced.types import U8, FaceDetection, Frame


def settings(cool_down_seconds: float) -> Settings:
    """Settings that differ from others by something that these tests do not look at."""
    return Settings.model_validate({"policy": {"cool_down_seconds": cool_down_seconds}})


CHANGED = settings(7.0)


def ann(number: int) -> U8:
    return scene((ANN, 50), sequence=number)


def is_trouble(where: str) -> Callable[[Happening], bool]:
    return lambda happening: isinstance(happening, Trouble) and happening.where == where


def is_decision(happening: Happening) -> bool:
    return isinstance(happening, DecisionMade)


# Reload


@pytest.mark.parametrize(
    "nonsense",
    [
        ConfigError("recognition.target_fpir = 7: at most 0.5"),
        ModelMissing("the pack reference is not here"),
        settings(8.0),
    ],
    ids=["configuration", "pack", "pack of other settings"],
)
def test_a_reload_that_cannot_be_keeps_the_old_line_and_says_so(
    nonsense: Settings | EdgefacedError, tmp_path: Path
) -> None:
    machine = Machine(tmp_path / "machine")

    def cast(wanted: Settings) -> Cast:
        if wanted.policy.cool_down_seconds == 8.0:
            raise ModelMissing("the pack reference is not here")
        return Cast(machine.open)

    staged = Staged(tmp_path, cast)
    before = staged.daemon.line

    def scenario() -> None:
        staged.sink.until(is_decision)
        staged.heard.until("READY")
        staged.reload(nonsense)
        trouble = staged.sink.until(is_trouble("configuration"))
        assert isinstance(trouble, Trouble)
        assert trouble.detail.startswith("not taken: ")
        staged.heard.until("READY", 2)

    with machine.showing(ann):
        assert staged.play(scenario).exit_code == 0
    assert staged.daemon.line is before
    assert staged.heard.words[-1] == "STOPPING"


def test_ready_is_said_again_with_the_new_lines_first_frame_and_not_before(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "machine")
    opened, gate = threading.Event(), threading.Event()

    def open_slowly() -> Camera:
        opened.set()
        assert gate.wait(PATIENCE_SECONDS)
        return machine.open()

    staged = Staged(tmp_path, lambda s: Cast(open_slowly if s == CHANGED else machine.open))

    def scenario() -> None:
        staged.heard.until("READY")
        staged.reload(CHANGED)
        staged.heard.until("RELOADING")
        assert opened.wait(PATIENCE_SECONDS)
        ticks = staged.heard.said("STATUS")
        staged.heard.until("STATUS", ticks + 2)
        assert staged.heard.said("READY") == 1
        gate.set()
        staged.heard.until("READY", 2)

    with machine.showing(ann):
        assert staged.play(scenario).exit_code == 0


def test_a_reload_before_the_first_frame_makes_nothing_ready(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "machine")
    gate = threading.Event()

    def open_slowly() -> Camera:
        assert gate.wait(PATIENCE_SECONDS)
        return machine.open()

    staged = Staged(tmp_path, lambda s: Cast(open_slowly))

    def scenario() -> None:
        for nothing_new in (Settings(), ConfigError("nonsense")):
            before = staged.heard.said("RELOADING")
            staged.reload(nothing_new)
            staged.heard.until("RELOADING", before + 1)
        staged.heard.until("STATUS", staged.heard.said("STATUS") + 2)
        assert staged.heard.said("READY") == 0
        gate.set()
        staged.heard.until("READY")

    with machine.showing(ann):
        assert staged.play(scenario).exit_code == 0


def test_a_camera_that_hangs_at_a_reload_ends_the_daemon_for_a_new_process_to_begin(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path / "machine")
    hangs, over = threading.Event(), threading.Event()

    def hang_in_a_driver() -> Camera:
        hangs.set()
        assert over.wait(PATIENCE_SECONDS)
        return machine.open()

    staged = Staged(tmp_path, lambda s: Cast(hang_in_a_driver), stop_seconds=2.0)

    def scenario() -> None:
        assert hangs.wait(PATIENCE_SECONDS)
        staged.reload(CHANGED)
        staged.heard.until("STOPPING")

    ending = staged.play(scenario)
    assert ending.exit_code == EdgefacedError.exit_code
    assert [straggler.stage for straggler in ending.stragglers] == ["capture"]
    assert "hang_in_a_driver" in ending.stragglers[0].stack
    over.set()
    assert staged.daemon.line.stop(PATIENCE_SECONDS) == []


def test_a_camera_that_is_gone_at_a_reload_is_reported_and_comes_back(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "machine")
    staged = Staged(tmp_path, lambda s: Cast(machine.open))

    def scenario() -> None:
        staged.heard.until("READY")
        machine.unplug()
        staged.reload(CHANGED)
        staged.heard.until("READY", 2)
        staged.heard.until("STATUS NO CAMERA")
        machine.plug_in(3)
        staged.sink.until(is_decision)

    with machine.showing(ann):
        assert staged.play(scenario).exit_code == 0
    assert staged.daemon.settings == CHANGED


@pytest.mark.parametrize("error", [PictureError("no picture"), ZeroDivisionError("a bug")])
def test_a_new_line_that_fails_before_its_first_frame_gives_way_to_the_old_settings(
    error: Exception, tmp_path: Path
) -> None:
    machine = Machine(tmp_path / "machine")

    def broken() -> Camera:
        raise error

    staged = Staged(tmp_path, lambda s: Cast(broken if s == CHANGED else machine.open))

    def scenario() -> None:
        staged.heard.until("READY")
        staged.reload(CHANGED)
        trouble = staged.sink.until(is_trouble("configuration"))
        assert isinstance(trouble, Trouble)
        assert trouble.detail == f"not taken: capture: {error}"
        staged.heard.until("READY", 2)
        staged.sink.until(lambda h: isinstance(h, CameraChanged) and h.up, 2)

    with machine.showing(ann):
        assert staged.play(scenario).exit_code == 0
    assert staged.daemon.settings == Settings()


def test_a_line_that_fails_later_ends_the_daemon_with_the_errors_code(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "machine")
    bad = threading.Event()

    class Failing(ColourDetector):
        def detect(self, frame: Frame) -> list[FaceDetection]:
            if bad.is_set():
                raise PictureError("a network gone wrong")
            return super().detect(frame)

    staged = Staged(tmp_path, lambda s: Cast(machine.open, detector=Failing()))

    def scenario() -> None:
        staged.heard.until("READY")
        staged.reload(CHANGED)
        staged.heard.until("READY", 2)
        bad.set()
        staged.heard.until("STOPPING")

    with machine.showing(ann):
        ending = staged.play(scenario)
    assert ending.exit_code == PictureError.exit_code
    assert [failure.stage for failure in ending.failures] == ["detect"]


# Signals


def endless() -> Iterator[Step]:
    for number in itertools.count():
        yield scene((ANN, number % 150), sequence=number % 50)


def filmed(ledger: list[str]) -> Cast:
    return Cast(lambda: ScriptedCamera(endless(), ledger), replay=True)


@contextmanager
def signals_end(staged: Staged) -> Iterator[None]:
    """Also before it runs and after it: a test's process must live on."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: staged.daemon.stop())
    yield
    signal.signal(signal.SIGTERM, before)


def test_it_ends_in_order_whenever_a_signal_comes(tmp_path: Path) -> None:
    """At the start, at work, in the middle of a reload and of several."""
    chance = random.Random(12)
    threads = set(threading.enumerate())
    for turn in range(60):
        ledger: list[str] = []
        staged = Staged(tmp_path / str(turn), lambda s: filmed(ledger))  # noqa: B023 - used at once
        moments = [chance.uniform(0, 0.05) for _ in range(chance.choice([1, 1, 2, 3]))]

        def scenario(staged: Staged = staged, moments: list[float] = moments) -> None:
            pause = threading.Event()
            for number, moment in enumerate(moments[:-1]):
                pause.wait(moment)
                staged.settings = settings(20.0 + number)
                os.kill(os.getpid(), signal.SIGHUP)
            pause.wait(moments[-1])
            os.kill(os.getpid(), signal.SIGTERM)

        hang_up = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with signals_end(staged):
                ending = staged.play(scenario)
        finally:
            signal.signal(signal.SIGHUP, hang_up)
        assert (ending.exit_code, ending.failures, ending.stragglers) == (0, (), ())
        assert ledger.count("lent") == ledger.count("back")
        assert staged.sink.closed
        assert staged.heard.words[-1] == "STOPPING"
    assert set(threading.enumerate()) == threads


STORM = """
import os, signal, sys, time
for _ in range(8000):
    os.kill(int(sys.argv[1]), signal.SIGHUP)
    time.sleep(0.00002)
"""


def test_a_storm_of_signals_meets_no_lock(tmp_path: Path) -> None:
    """A handler runs between any two steps of the main thread: one that waits for a lock that this
    thread holds would wait for ever.
    """
    machine = Machine(tmp_path / "machine")
    staged = Staged(tmp_path, lambda s: Cast(machine.open))

    def scenario() -> None:
        staged.heard.until("READY")
        subprocess.run([sys.executable, "-c", STORM, str(os.getpid())], check=True)
        staged.sink.until(is_decision)
        os.kill(os.getpid(), signal.SIGTERM)

    with machine.showing(ann), signals_end(staged):
        assert staged.play(scenario).exit_code == 0


# Hanging


def test_a_network_that_never_answers_starves_the_watchdog(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "machine")
    hangs, over = threading.Event(), threading.Event()

    class Hanging(ColourDetector):
        def detect(self, frame: Frame) -> list[FaceDetection]:
            hangs.set()
            assert over.wait(PATIENCE_SECONDS)
            return super().detect(frame)

    staged = Staged(tmp_path, lambda s: Cast(machine.open, detector=Hanging()))

    def scenario() -> None:
        assert hangs.wait(PATIENCE_SECONDS)
        staged.heard.until("STATUS", staged.heard.said("STATUS") + 2)
        fed = staged.heard.said("WATCHDOG")
        staged.heard.until("STATUS", staged.heard.said("STATUS") + 3)
        assert staged.heard.said("WATCHDOG") == fed
        over.set()
        staged.heard.until("WATCHDOG", fed + 1)

    with machine.showing(ann):
        assert staged.play(scenario).exit_code == 0


STAGES = ("capture", "detect", "recognise", "deliver watched")
HANGING = Path(__file__).resolve().parents[1] / "support" / "hanging_daemon.py"


def test_a_process_whose_thread_hangs_in_a_driver_ends_all_the_same_and_says_where(
    tmp_path: Path,
) -> None:
    processes = {
        stage: subprocess.Popen(
            [sys.executable, str(HANGING), stage, str(tmp_path / stage)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for stage in STAGES
    }
    try:
        for process in processes.values():
            assert process.stdout is not None
            assert process.stdout.readline() == "hangs\n"
            process.send_signal(signal.SIGTERM)
        for stage, process in processes.items():
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
            assert process.returncode == EdgefacedError.exit_code, said
            hanging = [line for line in said.splitlines() if line.endswith(" hangs")]
            assert hanging == [f"edgefaced: {stage} hangs"]
            assert "in hang_in_a_driver" in said
            assert "Traceback" not in said
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()


# Disks

TINY = {
    "models": {"pack": "tiny"},
    "detection": {"input_size_px": 32, "score_threshold": 0.99},
    "recognition": {"fixed_threshold": 0.5},
    "thermal": {"zones": []},
}
"""Real networks, real gallery: the pack finds nobody, and needs no data for that."""


def real_daemon(folder: Path, state: Path) -> Staged:
    """The real parts, before a film of noise."""
    here = Installation(folder)
    here.pull(here.know(TinyPack()))
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)
    assert cv2.imwrite(str(folder / "scene.png"), noise)
    film = {"kind": "replay", "replay_loop": True, "replay_paths": [str(folder / "scene.png")]}
    told = Settings.model_validate({**TINY, "camera": film})
    places = Places(folder / "edgefaced.toml", state, folder / "models")
    return Staged(folder, places=places, settings=told)


@pytest.fixture
def real(tmp_path: Path, small_disk: Path) -> Staged:
    """A real daemon with its state on a small disk."""
    return real_daemon(tmp_path, small_disk / "state")


def fill(disk: Path) -> Path:
    """Nothing more fits on the disk until this is deleted."""
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return ballast


def recorded(places: Places) -> list[Happening]:
    with Ledger.open(places.events_file) as ledger:
        return [record.event.happening for record in ledger.after(0)]


def make_news(staged: Staged, number: int) -> None:
    """Something happens that is worth recording: a configuration that is not taken."""
    staged.reload(ConfigError(f"nonsense {number}"))
    staged.sink.until(lambda h: isinstance(h, Trouble) and h.detail.endswith(f"nonsense {number}"))


@pytest.mark.parametrize("gone", ["pack", "film", "key"])
def test_what_has_gone_before_a_reload_is_said_and_the_old_line_goes_on(
    gone: str, tmp_path: Path
) -> None:
    daemon = real_daemon(tmp_path, tmp_path / "state")
    before, old = daemon.daemon.line, daemon.daemon.settings

    def scenario() -> None:
        daemon.heard.until("READY")
        wanted = Settings.model_validate({**old.model_dump(), "policy": CHANGED.policy})
        if gone == "pack":
            shutil.rmtree(daemon.places.models_dir)
        elif gone == "film":
            wanted = Settings.model_validate(
                {**old.model_dump(), "camera": {"kind": "replay", "replay_paths": []}}
            )
        else:
            daemon.places.key_file.unlink()
        daemon.reload(wanted)
        assert isinstance(daemon.sink.until(is_trouble("configuration")), Trouble)
        fed = daemon.heard.said("WATCHDOG")
        daemon.heard.until("WATCHDOG", fed + 2)

    assert daemon.play(scenario).exit_code == 0
    assert daemon.daemon.line is before
    assert daemon.daemon.settings == old


def test_a_disk_that_fills_up_and_empties_loses_no_event_and_stops_nothing(
    real: Staged, small_disk: Path
) -> None:
    numbers = itertools.count()

    def scenario() -> None:
        real.heard.until("READY")
        make_news(real, next(numbers))
        ballast = fill(small_disk)
        while not real.sink.counted(is_trouble("ledger")):
            make_news(real, next(numbers))
        assert not real.sink.events[-1].recorded
        fed = real.heard.said("WATCHDOG")
        real.heard.until("WATCHDOG", fed + 2)
        real.heard.until("STATUS camera up, pace cool, 0 faces in view, a look")
        ballast.unlink()
        again = real.sink.until(is_trouble("ledger"), 2)
        assert isinstance(again, Trouble)
        assert again.detail.startswith("records again; 0 events were lost")

    assert real.play(scenario).exit_code == 0
    kept = [h.detail for h in recorded(real.places) if isinstance(h, Trouble)]
    for number in range(next(numbers)):
        assert f"not taken: nonsense {number}" in kept


@pytest.mark.parametrize("state", ["full", "read-only"])
def test_a_start_on_a_disk_that_cannot_be_written_still_serves_the_door(
    state: str, real: Staged, small_disk: Path
) -> None:
    def once() -> None:
        real.heard.until("READY")

    assert real.play(once).exit_code == 0
    before = recorded(real.places)
    ballast = fill(small_disk)
    if state == "read-only":
        ballast.unlink()
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    again = Staged(small_disk, places=real.places, settings=real.daemon.settings)

    def serve() -> None:
        again.heard.until("READY")
        assert isinstance(again.sink.until(is_trouble("ledger")), Trouble)
        again.sink.until(lambda h: isinstance(h, CameraChanged) and h.up)

    assert again.play(serve).exit_code == 0
    assert not any(event.recorded for event in again.sink.events)
    if state == "read-only":
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    else:
        ballast.unlink()
    assert recorded(real.places) == before
