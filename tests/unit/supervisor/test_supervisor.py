"""The service manager's protocol, spoken to a real socket that is ours."""

from __future__ import annotations

import io
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgefaced.supervisor import Nobody, Supervisor, Systemd, goes_to_journal, supervisor_of


class Manager:
    """A service manager's end: a datagram socket, in the file system or abstract."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.socket.settimeout(30)

    def heard(self) -> list[str]:
        """Every datagram that has come."""
        messages = []
        self.socket.setblocking(False)
        while True:
            try:
                messages.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return messages


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    abstract = f"@edgefaced-test-{secrets.token_hex(8)}"
    manager = Manager(abstract if request.param == "abstract" else str(tmp_path / "notify"))
    yield manager
    manager.socket.close()


def test_every_word_is_one_datagram(manager: Manager) -> None:
    systemd = supervisor_of({"NOTIFY_SOCKET": manager.address})
    systemd.ready()
    systemd.alive()
    systemd.status("camera up, 2 faces")
    systemd.stopping()
    assert manager.heard() == [
        "READY=1",
        "WATCHDOG=1",
        "STATUS=camera up, 2 faces",
        "STOPPING=1",
    ]


def test_ready_is_said_once_and_again_after_a_reload(manager: Manager) -> None:
    systemd = Systemd(manager.address)
    systemd.ready()
    systemd.ready()
    systemd.reloading()
    systemd.ready()
    systemd.ready()
    first, reloading, second = manager.heard()
    assert (first, second) == ("READY=1", "READY=1")
    assert reloading.startswith("RELOADING=1\nMONOTONIC_USEC=")
    assert reloading.removeprefix("RELOADING=1\nMONOTONIC_USEC=").isdecimal()


def test_a_status_is_said_when_it_changes(manager: Manager) -> None:
    systemd = Systemd(manager.address)
    for line in ("camera up", "camera up", "NO CAMERA", "camera up"):
        systemd.status(line)
    assert manager.heard() == ["STATUS=camera up", "STATUS=NO CAMERA", "STATUS=camera up"]


def every_word(supervisor: Supervisor) -> list[Callable[[], None]]:
    return [
        supervisor.ready,
        supervisor.alive,
        lambda: supervisor.status("camera up"),
        supervisor.reloading,
        supervisor.stopping,
    ]


def test_a_manager_that_has_gone_harms_nobody(tmp_path: Path) -> None:
    manager = Manager(str(tmp_path / "notify"))
    systemd = Systemd(manager.address)
    manager.socket.close()  # the socket's file is there, and nobody listens
    for say in every_word(systemd):
        say()
    (tmp_path / "notify").unlink()
    for say in every_word(systemd):
        say()


def test_a_manager_that_does_not_read_blocks_nobody(tmp_path: Path) -> None:
    manager = Manager(str(tmp_path / "notify"))
    systemd = Systemd(manager.address)
    said = 5000
    for _ in range(said):
        systemd.alive()
    heard = manager.heard()
    manager.socket.close()
    assert 0 < len(heard) < said, "more than a socket's queue was said"


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:9"}])
def test_without_a_manager_nobody_is_told(environment: dict[str, str]) -> None:
    nobody = supervisor_of(environment)
    assert isinstance(nobody, Nobody)
    for say in every_word(nobody):
        say()


def test_a_stream_goes_to_the_journal_where_systemd_says_so(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w") as stream, (tmp_path / "b").open("w") as other:
        status = os.fstat(stream.fileno())
        environment = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        assert goes_to_journal(stream, environment)
        assert not goes_to_journal(other, environment), "redirected since"
        assert not goes_to_journal(stream, {})
    assert not goes_to_journal(stream, environment), "closed"
    assert not goes_to_journal(io.StringIO(), environment)
