"""A whole run as systemd sees it: what comes at the socket from start to stop, across reloads."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from installation import Installation
from tiny_pack import TinyPack

from edgefaced.control.client import connect
from edgefaced.errors import GalleryError, Waiting
from edgefaced.events import Trouble
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.store import Ledger

CONFIG = """
[camera]
{camera}
[models]
pack = "tiny"
[detection]
input_size_px = 32
score_threshold = 0.99
[recognition]
fixed_threshold = 0.5
[thermal]
zones = []
"""
REPLAY = 'kind = "replay"\nreplay_loop = true\nframes_per_second = 10.0\nreplay_paths = ["{}"]'
NONE = 'device = "/dev/video-that-nobody-has"'
PATIENCE_SECONDS = 60


class Service:
    """The daemon as a service: its process, its notifications and the end of its log."""

    def __init__(self, folder: Path, camera: str = REPLAY, *, with_pack: bool = True) -> None:
        self.config = folder / "edgefaced.toml"
        noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)
        assert cv2.imwrite(str(folder / "scene.png"), noise)
        self.text = CONFIG.format(camera=camera.format(folder / "scene.png"))
        self.config.write_text(self.text)
        here = Installation(folder)
        pack = here.know(TinyPack())
        self.install_pack: Callable[[], object] = lambda: here.pull(pack)
        if with_pack:
            self.install_pack()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(folder / "notify"))
        self._socket.settimeout(PATIENCE_SECONDS)
        self.log = folder / "log"
        with self.log.open("w") as stream:
            status = os.fstat(stream.fileno())
            self.process = subprocess.Popen(
                [sys.executable, "-m", "edgefaced", "run", "--wait"],
                env={
                    **os.environ,
                    "EDGEFACED_CONFIG": str(self.config),
                    "EDGEFACED_STATE_DIR": str(folder / "state"),
                    "EDGEFACED_MODELS_DIR": str(folder / "models"),
                    "NOTIFY_SOCKET": str(folder / "notify"),
                    "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}",
                },
                stdout=stream,
                stderr=stream,
            )

    def until(self, wanted: str) -> list[str]:
        """Every message up to the first one that starts so."""
        heard: list[str] = []
        while not heard or not heard[-1].startswith(wanted):
            try:
                heard.append(self._socket.recv(4096).decode())
            except TimeoutError:
                pytest.fail(f"no {wanted} after {heard}; {self.log.read_text()}")
        return heard

    def hang_up(self, text: str) -> None:
        self.config.write_text(text)
        self.process.send_signal(signal.SIGHUP)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._socket.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    yield service
    service.end()


def test_from_start_to_stop_across_a_good_and_a_broken_reload(service: Service) -> None:
    service.until("READY=1")
    service.until("STATUS=camera up")
    service.until("WATCHDOG=1")
    service.until("WATCHDOG=1")

    service.hang_up(service.text + "[policy]\nrecheck_seconds = 7.0\n")
    assert "\nMONOTONIC_USEC=" in service.until("RELOADING=1")[-1]
    assert not any(m.startswith("STOPPING") for m in service.until("READY=1"))
    service.until("WATCHDOG=1")

    service.hang_up(service.text + "[policy]\nrecheck_seconds = -7.0\n")
    service.until("RELOADING=1")
    service.until("READY=1")
    service.until("WATCHDOG=1")
    assert service.process.poll() is None

    service.process.send_signal(signal.SIGTERM)
    service.until("STOPPING=1")
    assert service.process.wait(PATIENCE_SECONDS) == 0
    log = service.log.read_text()
    assert "<5>camera up: replay" in log
    assert "<4>trouble in configuration: not taken" in log
    assert "policy.recheck_seconds = -7.0" in log


def test_the_watchdog_s_signal_leaves_a_stack_of_every_thread(service: Service) -> None:
    service.until("WATCHDOG=1")
    service.process.send_signal(signal.SIGABRT)
    assert service.process.wait(PATIENCE_SECONDS) == -signal.SIGABRT
    log = service.log.read_text()
    assert "Fatal Python error: Aborted" in log
    assert log.count("hread 0x") > 3


def test_an_absent_camera_is_reported_and_holds_nothing_up(tmp_path: Path) -> None:
    service = Service(tmp_path, NONE)
    try:
        heard = service.until("READY=1")
        service.until("WATCHDOG=1")
        assert any(m.startswith("STATUS=NO CAMERA") for m in heard)
        service.process.send_signal(signal.SIGTERM)
        service.until("STOPPING=1")
        assert service.process.wait(PATIENCE_SECONDS) == 0
        assert "<3>camera DOWN: " in service.log.read_text()
    finally:
        service.end()


def test_a_missing_pack_is_waited_for(tmp_path: Path) -> None:
    service = Service(tmp_path, with_pack=False)
    try:
        heard = service.until("WATCHDOG=1")
        assert heard[-2] == "READY=1"
        waits = next(m for m in heard if m.startswith("STATUS="))
        assert waits.startswith("STATUS=WAITING, nobody is recognised: ")
        assert "edgefaced models pull tiny" in waits
        with connect([tmp_path / "state" / "control.sock"]) as client:
            for command in ("status", "doors", "events"):
                with pytest.raises(Waiting, match="nobody is recognised: ") as refused:
                    client.ask(command)
                assert "edgefaced models pull tiny" in refused.value.hint

        service.install_pack()
        service.process.send_signal(signal.SIGHUP)
        service.until("STATUS=camera up")
        service.until("WATCHDOG=1")
        with connect([tmp_path / "state" / "control.sock"]) as client:
            assert client.ask("status")["status"]["pack"] == "tiny"
        service.process.send_signal(signal.SIGTERM)
        service.until("STOPPING=1")
        assert service.process.wait(PATIENCE_SECONDS) == 0
        assert service.log.read_text().count("waiting: ") == 1
    finally:
        service.end()


def test_a_service_that_waits_can_be_stopped_and_has_said_why_in_the_ledger(tmp_path: Path) -> None:
    service = Service(tmp_path, with_pack=False)
    try:
        service.until("WATCHDOG=1")
        service.process.send_signal(signal.SIGTERM)
        service.until("STOPPING=1")
        assert service.process.wait(PATIENCE_SECONDS) == 0
    finally:
        service.end()
    with Ledger.open(tmp_path / "state" / "events.db") as ledger:
        (record,) = ledger.after(0, 10)
    assert isinstance(record.event.happening, Trouble)
    assert record.event.happening.where == "start"


@pytest.mark.parametrize("damage", ["gallery.db", "gallery.key"])
def test_damage_is_not_waited_for(tmp_path: Path, damage: str) -> None:
    (tmp_path / "state").mkdir()
    key = tmp_path / "state" / "gallery.key"
    Gallery.open(tmp_path / "state" / "gallery.db", key, create=True).close()
    (tmp_path / "state" / damage).write_bytes(b"\x01" * 32)
    service = Service(tmp_path)
    try:
        assert service.process.wait(PATIENCE_SECONDS) == GalleryError.exit_code
        assert "<3>edgefaced: " in service.log.read_text()
    finally:
        service.end()


def test_a_start_that_cannot_be_is_an_error_in_the_journal(tmp_path: Path) -> None:
    config, log = tmp_path / "edgefaced.toml", tmp_path / "log"
    config.write_text('[models]\npack = "no-such-pack"\n')
    with log.open("w") as stream:
        status = os.fstat(stream.fileno())
        done = subprocess.run(
            [sys.executable, "-m", "edgefaced", "--config", str(config), "run"],
            env={**os.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"},
            stderr=stream,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
    assert done.returncode == 5
    assert log.read_text().startswith("<3>edgefaced: ")
    assert log.read_text().count("\n") == 1
