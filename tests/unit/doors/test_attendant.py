"""The doors' own stage with a real guard and lines of files: what fails is told and mended."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from door_rigs import ALWAYS, BOOT, seen, settings
from file_chip import PATIENCE_SECONDS, FileChip
from guards import guard_of

from edgefaced.doors.attendant import Attendant
from edgefaced.doors.book import Book
from edgefaced.doors.door import DoorStatus
from edgefaced.doors.house import House
from edgefaced.doors.plan import plans_of
from edgefaced.doors.remembered import recall
from edgefaced.events import DoorChanged, DoorState, Happening, RelayPulsed, Trouble
from edgefaced.pipeline.crew import Heartbeat


class Ear:
    """Hears what is announced, and lets a test wait for it."""

    def __init__(self) -> None:
        self.told: list[Happening] = []
        self._more = threading.Condition()

    def __call__(self, happening: Happening) -> None:
        with self._more:
            self.told.append(happening)
            self._more.notify_all()

    def wait(self, found: Callable[[], bool]) -> None:
        with self._more:
            assert self._more.wait_for(found, PATIENCE_SECONDS), self.told

    def pause(self) -> None:
        """Until something is told, or a moment."""
        with self._more:
            self._more.wait(0.01)

    def heard(self, kind: type[Happening], text: str = "", times: int = 1) -> None:
        """Waits until that has been told so often."""
        self.wait(lambda: sum(isinstance(h, kind) and text in str(h) for h in self.told) >= times)


class Rig:
    def __init__(self, folder: Path, **door: Any) -> None:
        lines = ("relay", "button", "contact")
        self.chip = FileChip(folder / "pins", *lines)
        front = {
            "chip_kind": "file",
            "chip": str(self.chip.folder),
            "relay_line": "relay",
            "button_line": "button",
            "button_active_low": False,
            "contact_line": "contact",
            "liveness": "not required",
            **door,
        }
        self.ear = Ear()
        self.lines_file = folder / "lines.json"
        self.house = House(plans_of(settings(doors={"front": front})), Book(folder / "b"), BOOT)
        self.attendant = Attendant(self.house, folder / "unlocked.json", self.lines_file)
        self.stop = threading.Event()
        self.heartbeat = Heartbeat()
        self.attendant.connect(self.ear, lambda: "a camera", self.stop)

    @contextmanager
    def running(self) -> Iterator[Rig]:
        thread = threading.Thread(target=self.attendant.run, args=(self.heartbeat,))
        thread.start()
        try:
            yield self
        finally:
            self.attendant.end()
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()

    @property
    def status(self) -> DoorStatus:
        (status,) = self.house.statuses()
        return status

    def until_ready(self) -> None:
        self.until(lambda: self.status.lock == "ready")

    def until(self, holds: Callable[[], bool]) -> None:
        """What nobody announces shows within a round or two of the stage."""
        beats = self.heartbeat.beats
        while not holds():
            self.ear.pause()
            assert self.heartbeat.beats < beats + 200

    def guard(self) -> int:
        """The guard's process id."""
        return guard_of(os.getpid())


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(tmp_path, pulse_ms=50).running() as running:
        running.until_ready()
        yield running


def test_a_decision_pulses_the_line_and_it_ends(rig: Rig) -> None:
    rig.house.decide(seen(), lambda person: ALWAYS)
    rig.chip.wait("relay", high=True)
    rig.chip.wait("relay", high=False)
    rig.until(lambda: not rig.status.unlocked)
    assert recall(rig.lines_file) == tuple(plan.wires for plan in rig.house.plans.doors)


def test_a_guard_is_not_ended_because_the_stage_itself_was_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, pulse_ms=30_000)
    looks: list[str | None] = []

    def overdue(grace_seconds: float) -> str | None:
        """As after a pause of the whole process: late, until the guard's answer is read."""
        looks.append(None if looks else "front")
        return looks[-1]

    with rig.running():
        rig.until_ready()
        rig.house.open(["front"], "by me")
        rig.chip.wait("relay", high=True)
        guard = rig.guard()
        monkeypatch.setattr(rig.house, "overdue", overdue)
        rig.until(lambda: len(looks) > 3)
        assert rig.guard() == guard
        assert rig.chip.is_high("relay")


def test_a_killed_guard_leaves_no_door_unlocked_although_there_can_be_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Rig(tmp_path, pulse_ms=30_000).running() as rig:
        rig.until_ready()
        rig.house.open(["front"], "by me")
        rig.chip.wait("relay", high=True)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "no python"))
        os.kill(rig.guard(), signal.SIGKILL)
        rig.chip.wait("relay", high=False)
        rig.until(lambda: rig.status.lock not in ("ready", ""))
        assert not rig.status.unlocked


def test_a_killed_guard_is_told_and_its_line_locked_by_the_next(tmp_path: Path) -> None:
    with Rig(tmp_path, pulse_ms=30_000).running() as rig:
        rig.until_ready()
        rig.house.open(["front"], "by me")
        rig.chip.wait("relay", high=True)
        os.kill(rig.guard(), signal.SIGKILL)
        rig.chip.wait("relay", high=False)
        rig.ear.heard(Trouble, "signal 9")
        rig.ear.heard(Trouble, "unlocked when its guard was killed")
        rig.until_ready()
        assert not rig.status.unlocked


def test_a_guard_that_hangs_is_replaced_and_its_line_locked(rig: Rig) -> None:
    rig.house.open(["front"], "by me")
    rig.chip.wait("relay", high=False)
    os.kill(rig.guard(), signal.SIGSTOP)
    rig.house.open(["front"], "by me")
    rig.ear.heard(Trouble, "did not do its work in time")
    rig.until_ready()
    rig.house.open(["front"], "by me")
    rig.chip.wait("relay", high=True)
    rig.chip.wait("relay", high=False)


def test_a_missing_line_is_told_once_and_found_when_it_comes(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    for line in ("relay", "button"):
        (rig.chip.folder / line).unlink()
    with rig.running():
        rig.ear.heard(Trouble, "no line 'relay'")
        rig.ear.heard(Trouble, "no line 'button'")
        rig.until(lambda: "no line 'relay'" in rig.status.lock)
        rig.chip.drive("relay", high=True)
        rig.chip.drive("button", high=False)
        rig.until_ready()
        assert not rig.chip.is_high("relay"), "inactive from the moment it is held"
        beats = rig.heartbeat.beats
        rig.until(lambda: rig.heartbeat.beats > beats + 4)
        rig.chip.drive("button", high=True)
        rig.ear.heard(RelayPulsed)
    assert sum(isinstance(h, Trouble) for h in rig.ear.told) == 2


def test_button_and_contact_are_heard(rig: Rig) -> None:
    rig.chip.drive("contact", high=True)
    rig.ear.heard(DoorChanged, "FORCED")
    rig.chip.drive("contact", high=False)
    rig.ear.heard(DoorChanged, "CLOSED")
    rig.chip.drive("button", high=True)
    rig.ear.heard(DoorChanged, "BUTTON")
    rig.ear.heard(RelayPulsed)
    rig.chip.drive("contact", high=True)
    rig.ear.heard(DoorChanged, "OPENED")
    rig.chip.drive("button", high=False)
    rig.chip.drive("contact", high=False)
    rig.ear.heard(DoorChanged, "CLOSED", times=2)
    assert sum(isinstance(h, RelayPulsed) for h in rig.ear.told) == 1, "a release is no press"


def test_a_button_that_is_stuck_when_the_daemon_starts_opens_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.chip.drive("button", high=True)
    rig.chip.drive("contact", high=True)
    with rig.running():
        rig.until_ready()
        rig.until(lambda: rig.status.is_open is True)
    assert [type(h) for h in rig.ear.told] == [DoorChanged]
    assert not rig.chip.is_high("relay")


def test_an_input_that_goes_is_told_and_taken_again(rig: Rig) -> None:
    (rig.chip.folder / "contact").unlink()
    rig.ear.heard(Trouble, "no line 'contact'")
    rig.chip.drive("contact", high=False)
    beats = rig.heartbeat.beats
    rig.until(lambda: rig.heartbeat.beats > beats + 4)
    rig.chip.drive("contact", high=True)
    rig.ear.heard(DoorChanged, "FORCED")


def test_a_door_without_a_lock_is_announced_only(tmp_path: Path) -> None:
    rig = Rig(tmp_path, relay_line=None, button_line=None, contact_line=None)
    with rig.running():
        rig.until(lambda: rig.status.lock == "none")
        rig.house.decide(seen(), lambda person: ALWAYS)
        rig.until(lambda: "granted=True" in str(rig.ear.told))
    assert [h.state for h in rig.ear.told if isinstance(h, DoorChanged)] == [DoorState.NORMAL]


def test_the_stage_ends_with_everything_else_and_locks(tmp_path: Path) -> None:
    rig = Rig(tmp_path, pulse_ms=30_000)
    thread = threading.Thread(target=rig.attendant.run, args=(rig.heartbeat,))
    thread.start()
    rig.until(lambda: rig.heartbeat.beats > 0)
    rig.until_ready()
    rig.house.open(["front"], "by me")
    rig.chip.wait("relay", high=True)
    rig.stop.set()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    assert not rig.chip.is_high("relay")
    assert rig.status.lock == "the daemon ends"


def test_lines_that_cannot_be_noted_are_told(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.lines_file.with_name("lines.json.partial").mkdir()
    with rig.running():
        rig.ear.heard(Trouble, "lines.json")
        rig.until_ready()
