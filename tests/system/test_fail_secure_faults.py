"""The fail-secure proof, of what goes wrong around a daemon that runs.

| cause | what is done here to a real daemon |
|---|---|
| broker replay | retained, persisted and repeated orders and events, by a broker that is killed |
| clock jump | a preloaded library turns its clock: to another day, to 1970, not synchronised |
| camera swapped | its doors were set up with another one under the same name |
| gallery unreadable | the file is exchanged for nonsense under it |
| NaN scores | a pack whose network gives NaN for every face |
| ledger full, or gone | the disk is filled up; the file is exchanged for a folder |
| a reader that hangs | nobody reads what it writes |

What ends a daemon is in `test_fail_secure.py`. The person who may pass walks up and goes away,
again and again: each time the door is asked anew, and opens where nothing is wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path
from typing import Any

import pytest
from clock_double import ClockDouble
from door_site import ANN, Site, gone, until
from gate import Gate
from guards import guard_of
from mosquitto import Subscriber, mosquitto, wait_until
from nan_pack import NAME, import_nan_pack
from small_disk import small_disk
from stand_in_pack import FILES, PACK

from edgefaced.events import AccessDecided, RelayPulsed, Trouble
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify

MONDAY, SUNDAY = (datetime(2026, 11, day, 10, tzinfo=UTC) for day in (30, 29))
BOOTED = datetime(1970, 1, 1, 0, 0, 30, tzinfo=UTC)
OFFICE = '[schedules.office]\nweekly = ["mon-fri 09:00-17:00"]\n'
MQTT = '[mqtt]\nhost = "127.0.0.1"\nport = {port}\ntls = false\nnode = "hall"\ncommands = true\n'


class Day:
    """A daemon on a day on which everything goes wrong, and what it hangs on."""

    def __init__(self, site: Site, clock: ClockDouble, process: subprocess.Popen[str]) -> None:
        self.site, self.clock, self._process = site, clock, process

    def refuses(self, reason: str) -> None:
        """Waits for a refusal with this reason, and sees that the line is inactive."""
        assert until(self._process, type="access", reason=reason)["granted"] is False
        self.site.chip.wait("relay", high=False)  # what was allowed before is over

    def opens(self) -> None:
        """Sees that the door opens once nothing is wrong any more."""
        until(self._process, type="access", granted=True)
        self.site.chip.wait("relay", high=True)
        self.site.chip.wait("relay", high=False)

    def uses(self, pack: str) -> None:
        configure(self.site, pack)
        self._process.send_signal(signal.SIGHUP)
        until(self._process, type="door", state="normal")

    def judges_nobody(self, where: str) -> str:
        """Waits until they came and left and no door was asked; what the daemon says of it."""
        detail = str(until(self._process, type="trouble", where=where)["detail"])
        until(self._process, type="left")  # who was here before may have been judged
        (left,) = seen_until(self._process, "left")
        assert left.get("id") is None
        self.site.chip.wait("relay", high=False)
        return detail


def seen_until(process: subprocess.Popen[str], kind: str) -> list[dict[str, Any]]:
    """All that is about persons, up to the next event of a kind."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["type"] not in ("trouble", "pace"):
            seen.append(event)
        if event["type"] == kind:
            return seen
    raise AssertionError(f"it ended before {kind}")


def configure(site: Site, pack: str = PACK) -> None:
    site.configure(site.folder / "passing", OFFICE, pack=pack, pulse_ms=500, cool_down_seconds=0.0)


@pytest.fixture(scope="module")
def models(site: Site, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of all, and one whose network gives NaN."""
    folder = tmp_path_factory.mktemp("nan")
    shutil.copytree(site.models, folder / "models", copy_function=os.link)
    import_nan_pack(shared_data / "models" / FILES[0], folder, folder / "models")
    return folder / "models"


@pytest.fixture(scope="module")
def day(site: Site, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """On a small disk, with doors that were set up with another camera of the same name."""
    folder = tmp_path_factory.mktemp("day")
    clock = ClockDouble(folder)
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(folder / "disk", megabytes=12))
        shutil.copytree(site.known, folder / "passing")
        shutil.copy(next(site.empty.iterdir()), folder / "passing" / "zz nobody.jpg")
        own = Site(folder, disk / "state", models)
        (disk / "state").mkdir(mode=0o700)
        for name in ("gallery.db", "gallery.key"):
            shutil.copy(site.state / name, own.state)
        configure(own)
        code, said = own.run("access", "grant", ANN, "--door=front", "--schedule=office")
        assert code == 0, said
        book = {"version": 1, "lockdown": [], "cameras": {"replay": "HD Pro Webcam C920"}}
        (own.state / "doors.json").write_text(json.dumps(book))
        clock.jump(MONDAY, synchronised=True)
        process = stack.enter_context(own.daemon(**clock.environment))
        day = Day(own, clock, process)
        day.refuses("camera changed")
        yield day


@pytest.fixture(scope="module")
def good_day(day: Day) -> Day:
    """The camera is trusted, and the door opens."""
    day.site.order("trust-camera")
    day.opens()
    return day


def test_a_camera_that_was_exchanged(day: Day) -> None:
    (trouble,) = (t for t in day.site.troubles() if "camera" in t and "was" in t)
    assert "the camera is 'replay' and was 'HD Pro Webcam C920': no door opens" in trouble
    assert day.site.is_locked


@pytest.mark.parametrize(
    ("moment", "synchronised", "reason"),
    [
        (SUNDAY, True, "schedule"),
        # Forward, to when the door would open; and back to where a board begins that knows no time.
        (MONDAY, False, "clock"),
        (BOOTED, False, "clock"),
    ],
)
def test_a_clock_that_jumps(
    good_day: Day, moment: datetime, synchronised: bool, reason: str
) -> None:
    try:
        good_day.clock.jump(moment, synchronised=synchronised)
        good_day.refuses(reason)
        assert good_day.site.is_locked
    finally:
        good_day.clock.jump(MONDAY, synchronised=True)
    good_day.opens()
    (*_, last) = (e for e in good_day.site.log() if is_refusal(e.happening, reason))
    assert abs((last.utc - moment).total_seconds()) < 600
    assert last.synchronised is synchronised


def is_refusal(happening: object, reason: str) -> bool:
    return isinstance(happening, AccessDecided) and happening.reason == reason


def test_a_gallery_that_is_damaged_while_it_runs(good_day: Day) -> None:
    gallery = good_day.site.state / "gallery.db"
    whole, nonsense = gallery.with_name("whole"), gallery.with_name("nonsense")
    shutil.copy(gallery, whole)
    nonsense.write_bytes(b"no gallery " * 1000)
    try:
        nonsense.replace(gallery)
        assert "gallery" in good_day.judges_nobody("gallery")
        assert good_day.site.is_locked
    finally:
        whole.replace(gallery)
    good_day.opens()
    assert any("where='gallery'" in trouble for trouble in good_day.site.troubles())


def test_a_disk_that_is_full(good_day: Day) -> None:
    """What could not be recorded then is recorded later, and says so."""
    ballast = good_day.site.state.parent / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12):
                while free_bytes(ballast.parent) >= size:
                    file.write(bytes(size))
        good_day.refuses("not recorded")
        assert good_day.site.is_locked
    finally:
        ballast.unlink()
    good_day.opens()
    assert_kept(good_day)


def free_bytes(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def test_a_ledger_that_cannot_be_opened(good_day: Day) -> None:
    path = good_day.site.state / "events.db"
    moved = [(p, p.with_name(f"away {p.name}")) for p in path.parent.glob("events.db*")]
    for there, away in moved:
        there.rename(away)
    path.mkdir()
    try:
        good_day.refuses("not recorded")
        assert good_day.site.is_locked
    finally:
        path.rmdir()
        for there, away in moved:
            away.rename(there)
    good_day.opens()
    assert_kept(good_day)


def assert_kept(day: Day) -> None:
    """The refusal is in the ledger by now, before what was let in afterwards."""
    log = [event.happening for event in day.site.log()]
    refused = max(i for i, h in enumerate(log) if is_refusal(h, "not recorded"))
    allowed = max(i for i, h in enumerate(log) if isinstance(h, AccessDecided) and h.granted)
    assert refused < allowed
    assert any(isinstance(h, Trouble) and h.where == "ledger" for h in log)
    with Ledger.open(day.site.state / "events.db") as ledger:
        assert verify(ledger).clean


def test_a_network_that_gives_nan(good_day: Day) -> None:
    try:
        good_day.uses(NAME)
        assert "length nan" in good_day.judges_nobody("recognise")
        assert good_day.site.is_locked
    finally:
        good_day.uses(PACK)
    good_day.opens()
    assert any("where='recognise'" in trouble for trouble in good_day.site.troubles())


def test_a_broker_that_keeps_and_repeats_everything(
    site: Site, nobody: Site, tmp_path: Path
) -> None:
    """Somebody is let in; what the broker then has opens no door of a daemon that starts again."""
    orders = ("open", "hold-open", "unlock", "pulse", "trust-camera", "normal")
    commands = "edgefaced/hall/command"
    keeps = ("persistence true", f"persistence_location {tmp_path}/")
    with (
        mosquitto(tmp_path / "broker", *keeps) as broker,
        Gate(broker.socket) as gate,
        Subscriber(broker, "edgefaced/hall/event/+") as ear,
    ):
        gate.open()
        for order in orders:
            ear.say(f"{commands}/{order}", b"front", retain=True)
        more = MQTT.format(port=gate.port)
        site.configure(more=more)
        with site.daemon() as process:
            until(process, type="access", granted=True)
            ear.wait(lambda: ear.on("edgefaced/hall/event/pulse"))
            guard = guard_of(process.pid)
            process.kill()
            gone(guard)
        assert site.is_locked
        heard = list(ear.heard)
        broker.stop()  # which writes down what it was told to keep
        broker.start()
        nobody.configure(site.empty, more)
        before = len(site.log())
        with (
            site.daemon() as process,
            Subscriber(broker, "edgefaced/hall/availability") as operator,
        ):
            until(process, type="door", state="normal")
            operator.wait(lambda: operator.on("edgefaced/hall/availability")[-1:] == [b"online"])
            for _ in range(3):
                for message in heard:
                    operator.say(message.topic, message.payload)
                    for order in orders:
                        operator.say(f"{commands}/{order}", message.payload)
            for order in orders:
                operator.say(f"{commands}/{order}", b"front", retain=True)
            # An order that is obeyed comes after all of these.
            operator.say(f"{commands}/lockdown", b"front")
            until(process, type="door", state="lockdown", cause="by MQTT")
            assert site.is_locked
            operator.say(f"{commands}/normal", b"front")
            until(process, type="door", state="normal", cause="by MQTT")
            # What is locked down here is no broker's business.
            site.order("lockdown")
            until(process, type="door", state="lockdown")
            operator.say(f"{commands}/normal", b"front")
            stays = "normal by MQTT: front: locked down at the device, where alone that ends"
            until(process, type="trouble", where="doors", detail=stays)
            site.order("normal")
        assert site.is_locked
        after = [event.happening for event in site.log()[before:]]
    assert not any(isinstance(h, AccessDecided | RelayPulsed) for h in after)
    refused = [h.detail for h in after if isinstance(h, Trouble) and "by MQTT" in h.detail]
    assert "not obeyed" in refused[0], "and the log says so"


def test_a_reader_that_hangs_keeps_no_door_open_and_is_told(site: Site, nobody: Site) -> None:
    """As a journal that takes nothing more: doors go on, the log says it, and an end is an end."""
    site.configure(pulse_ms=500)
    with site.daemon() as process:
        assert process.stdout is not None
        # Nobody reads, and the pipe is full soon.
        fcntl(process.stdout.fileno(), F_SETPIPE_SZ, 4096)
        site.chip.wait("relay", high=True)
        site.chip.wait("relay", high=False)
        guard = guard_of(process.pid)
        for _ in range(12):
            site.order("open", "front")
        wait_until(lambda: any("hangs" in trouble for trouble in site.troubles()))
        site.chip.wait("relay", high=False)
        process.send_signal(signal.SIGTERM)
        gone(guard)
        assert site.is_locked
        assert process.wait(60) != 0, "a stage that hangs is no clean end"
    assert any("where='terminal'" in trouble for trouble in site.troubles())
