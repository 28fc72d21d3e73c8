"""The fail-secure proof: whatever goes wrong, the lock's line is inactive and the log says why.

Here is what ends a daemon, which is a real one that is really killed; what goes wrong around one
that runs is in `test_fail_secure_faults.py`. The line is a file that keeps its level when whoever
drove it is killed: the worst that hardware does. At the end the same house of doors is asked in
this process what no daemon can be made to ask at will.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from door_rigs import ANN as KNOWN
from door_rigs import Rig, seen, settings
from door_site import Site, gone, until
from guards import guard_of
from stand_in_pack import PACK

from edgefaced.config.places import places
from edgefaced.config.settings import read_settings
from edgefaced.core.access import Grant, Rights
from edgefaced.daemon import Daemon
from edgefaced.doors.by_mqtt import obedience_of
from edgefaced.events import AccessDecided, DoorChanged, Event, PaceChanged, RelayPulsed, Trouble
from edgefaced.ledger.store import Ledger
from edgefaced.protocols import Delivery, SinkPlan
from edgefaced.sensors.thermal import ScriptedSensor
from edgefaced.supervisor import Nobody


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=["killed", "crashed"])
def test_a_daemon_that_dies_in_the_middle_of_a_pulse(site: Site, number: int) -> None:
    with site.daemon() as process:
        until(process, type="access", granted=True)
        site.chip.wait("relay", high=True)
        guard = guard_of(process.pid)
        process.send_signal(number)
        site.chip.wait("relay", high=False)
        gone(guard)
        process.communicate(timeout=60)
    assert site.is_locked
    # The next start says why, before anybody is let in again.
    with site.daemon() as process:
        event = until(process, type="trouble", where="doors")
        assert event["detail"] == "front was unlocked when the daemon ended: its guard locked it"
    log = site.log()
    assert any(isinstance(e.happening, RelayPulsed) for e in log)
    assert any("its guard locked it" in trouble for trouble in site.troubles())


def test_daemon_and_guard_killed_at_once_in_the_middle_of_a_pulse(site: Site, nobody: Site) -> None:
    site.configure()
    with site.daemon() as process:
        until(process, type="access", granted=True)
        site.chip.wait("relay", high=True)
        guard = guard_of(process.pid)
        process.send_signal(signal.SIGSTOP)
        os.kill(guard, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=60)
    assert site.chip.is_high("relay"), "hardware may keep the level, and this one does"
    # What systemd runs after every end of the daemon, and before every start.
    code, said = site.run("doors", "safe")
    assert (code, said) == (0, "inactive: relay\n")
    assert site.is_locked
    nobody.configure(site.empty)
    with nobody.daemon() as process:
        event = until(process, type="trouble", where="doors")
        assert "unlocked when its guard was killed: it is locked now" in event["detail"]
        assert site.is_locked


def test_a_loop_of_restarts_repeats_nothing_of_the_past(site: Site, nobody: Site) -> None:
    """Somebody was let in; when the daemon starts again, and again, nobody stands there."""
    site.configure()
    with site.daemon() as process:
        until(process, type="access", granted=True)
    nobody.configure(site.empty)
    before = site.log()
    for _ in range(2):
        with site.daemon() as process:
            until(process, type="door", state="normal")
            assert site.is_locked
        assert site.is_locked
    after = site.log()[len(before) :]
    assert not any(isinstance(event.happening, AccessDecided) for event in after)
    assert sum(isinstance(event.happening, DoorChanged) for event in after) == 2


def test_a_reload_in_the_middle_of_a_pulse(site: Site, nobody: Site) -> None:
    """The doors begin anew with everything else, and nobody stands there any more."""
    site.configure()
    with site.daemon() as process:
        until(process, type="access", granted=True)
        site.chip.wait("relay", high=True)
        nobody.configure(site.empty)
        process.send_signal(signal.SIGHUP)
        site.chip.wait("relay", high=False)
        assert until(process, type="door")["state"] == "normal"
        assert site.is_locked


def test_an_operators_lockdown_outlives_a_power_cut(site: Site) -> None:
    with site.daemon() as process:
        until(process, type="access", granted=True)
        site.chip.wait("relay", high=True)
        assert site.run("doors", "lockdown")[0] == 0
        site.chip.wait("relay", high=False)
        process.kill()
        process.communicate(timeout=60)
    with site.daemon() as process:
        assert until(process, type="door")["state"] == "lockdown"
        event = until(process, type="access")
        assert (event["granted"], event["reason"]) == (False, "lockdown")
        assert site.is_locked
        assert site.run("doors", "normal")[0] == 0


def test_a_board_that_is_too_hot_lets_nobody_in_and_says_so(site: Site) -> None:
    """In this process, with a thermometer that a test holds: she stands there, and is not seen."""
    house = places(site.environment, root=False)
    shown: list[Event] = []
    daemon = Daemon(
        lambda: read_settings(house.config_file),
        house,
        {"ear": SinkPlan(lambda: Ear(shown), Delivery.MOMENTARY)},
        lambda _: ScriptedSensor([200.0]),
        Watching(lambda: rested(daemon)),
    )
    assert daemon.run().exit_code == 0
    assert site.is_locked
    assert not any(isinstance(event.happening, AccessDecided) for event in shown)
    hot = [e.happening for e in site.log() if isinstance(e.happening, PaceChanged)]
    assert (hot[-1].band, hot[-1].cause) == ("off", "heat")


def rested(daemon: Daemon) -> None:
    """Stops a daemon that has passed over a second's frames."""
    if daemon.line.figures.frames["rest"] >= 30:
        daemon.stop()


class Ear:
    """Hears every event."""

    def __init__(self, heard: list[Event]) -> None:
        self._heard = heard

    def emit(self, event: Event) -> None:
        self._heard.append(event)

    def close(self) -> None:
        """Nothing to release."""


class Watching(Nobody):
    """A supervisor that looks at something whenever it is told how things are."""

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look

    def status(self, line: str) -> None:
        self._look()


def test_a_gallery_that_cannot_be_read(site: Site) -> None:
    key = site.state / "gallery.key"
    key.rename(key.with_name("away"))
    try:
        code, said = site.run("run", "--json")
    finally:
        key.with_name("away").rename(key)
    assert code == 6, said
    assert site.is_locked
    assert "gallery.key" in site.troubles()[-1]


def test_a_model_that_is_missing(site: Site) -> None:
    (site.folder / "no models").mkdir()
    code, said = site.run("run", "--json", EDGEFACED_MODELS_DIR=str(site.folder / "no models"))
    assert code in (3, 5), said
    assert site.is_locked
    last = site.log()[-1].happening
    assert isinstance(last, Trouble)
    assert (last.where, PACK in last.detail) == ("start", True)


def test_a_stage_that_fails_is_in_the_log(site: Site) -> None:
    """Whoever reads the events goes away: the daemon ends, and every lock with it."""
    with site.daemon() as process:
        until(process, type="access", granted=True)
        site.chip.wait("relay", high=True)
        guard = guard_of(process.pid)
        assert process.stdout is not None
        process.stdout.close()
        site.run("doors", "open", "front")  # one more event, which nobody reads
        assert process.stderr is not None
        process.stderr.read()
        gone(guard)
    assert site.is_locked
    assert any("failed, and all ends" in trouble for trouble in site.troubles())


# The same house of doors, asked in this process, to the second.


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(
        settings(schedules={"office": {"weekly": ["daily 00:00-24:00"]}}), tmp_path / "doors.json"
    )


def refused(rig: Rig, event: Event, reason: str) -> None:
    (decided,) = rig.decide(event)
    assert (decided.granted, decided.reason) == (False, reason)
    assert rig.orders == [], "no line is touched"


def test_events_that_come_again(rig: Rig, tmp_path: Path) -> None:
    """As a broker or a ledger would bring them: the same one twice, and all those of the past."""
    event = seen()
    assert rig.ask(event) == (True, "allowed")
    rig.orders.clear()
    refused(rig, event, "already decided")
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        ledger.append([seen(boot_id=boot) for boot in ("the boot before", "") for _ in range(9)])
        past = [record.event for record in ledger.after(0)]
    answers = [answer for event in past for answer in rig.decide(event)]
    assert [(a.granted, a.reason) for a in answers] == [(False, "too late")] * 18
    obey = obedience_of(rig.house)
    for order in ("open", "hold-open", "pulse", "trust-camera"):
        obey(order, b"front", "")
    assert rig.orders == [], "nothing that a broker says, retained or not, unlocks a door"


def test_a_clock_that_jumps(rig: Rig) -> None:
    rig.rights = Rights((Grant("front", "office"),))
    assert rig.ask() == (True, "allowed")
    rig.orders.clear()
    booted_in_1970 = replace(seen(), utc=seen().utc.replace(year=1970), synchronised=False)
    refused(rig, booted_in_1970, "clock")
    # Age is monotonic: setting the wall clock back makes no old event young again.
    old = replace(seen(), monotonic_ns=seen().monotonic_ns - 3 * 10**9)
    refused(rig, old, "too late")
    refused(rig, seen(boot_id="the boot before"), "too late")


def test_a_camera_that_was_exchanged(rig: Rig) -> None:
    assert rig.ask() == (True, "allowed")
    rig.orders.clear()
    rig.camera = "another camera"
    refused(rig, seen(), "camera changed")
    assert "another camera" in str(rig.said(Trouble))


@pytest.mark.parametrize("broken", [{"score": float("nan")}, {"threshold": float("nan")}])
def test_scores_that_are_no_numbers(rig: Rig, broken: dict[str, float]) -> None:
    refused(rig, seen(replace(KNOWN, **broken)), "below threshold")  # type: ignore[arg-type] # floats


def test_rights_that_cannot_be_read_while_it_runs(rig: Rig) -> None:
    rig.rights = None
    refused(rig, seen(), "rights cannot be read")


def test_a_ledger_that_takes_nothing(rig: Rig) -> None:
    refused(rig, seen(recorded=False), "not recorded")
