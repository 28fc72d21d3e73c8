"""Telling the service manager how things are: readiness, progress, state, the end.

The protocol is one datagram of `KEY=value` lines to the socket in NOTIFY_SOCKET (sd_notify(3));
it is spoken here directly, so that no package is needed for it.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from typing import Protocol, TextIO


class Supervisor(Protocol):
    """Whoever watches over the daemon. No verb of it fails or blocks."""

    def ready(self) -> None:
        """Start-up or a reload is over; further calls change nothing."""
        ...

    def alive(self) -> None:
        """Every stage has made progress."""
        ...

    def status(self, line: str) -> None: ...

    def reloading(self) -> None: ...

    def stopping(self) -> None: ...


class Nobody:
    """No service manager: a run in a terminal."""

    def ready(self) -> None:
        """Nobody is told."""

    def alive(self) -> None:
        """Nobody is told."""

    def status(self, line: str) -> None:
        """Nobody is told."""

    def reloading(self) -> None:
        """Nobody is told."""

    def stopping(self) -> None:
        """Nobody is told."""


class Systemd:
    """A service manager that listens on a datagram socket."""

    def __init__(self, address: str) -> None:
        # "@" stands for the NUL of an abstract address.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._ready = False
        self._status = ""

    def ready(self) -> None:
        if not self._ready:
            self._ready = True
            self._send("READY=1")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def status(self, line: str) -> None:
        if line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    def reloading(self) -> None:
        self._ready = False
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send(f"RELOADING=1\nMONOTONIC_USEC={microseconds}")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        # A manager that is gone or busy is no reason to stop recognising faces.
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as way:
                way.sendto(message.encode(), self._address)
        except OSError:
            return


def goes_to_journal(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether what is written to `stream` becomes lines of systemd's journal."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # closed, or no file at all
        return False
    return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def supervisor_of(environment: Mapping[str, str] = os.environ) -> Supervisor:
    """systemd where it started this process, else nobody."""
    address = environment.get("NOTIFY_SOCKET", "")
    return Systemd(address) if address.startswith(("/", "@")) else Nobody()
