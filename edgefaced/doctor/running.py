"""The service as systemd has it, and the daemon as it answers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from edgefaced.control.client import connect
from edgefaced.doctor.finding import Finding, Level, failed, fault, warning, well
from edgefaced.errors import EdgefacedError, Forbidden, NotRunning
from edgefaced.service.place import UNIT, Place

ASK_SECONDS = 10


def service(place: Place, state: Callable[[], str | None]) -> Iterator[Finding]:
    """Whether the unit is there, and what systemd says of it."""
    if not place.installed:
        yield well("service", "not installed; `sudo edgefaced install-service` starts it at boot")
        return
    now = state()
    if now is None:
        yield warning("service", f"{UNIT} is there, and systemd does not run this machine")
    elif now in ("active", "reloading"):
        yield well("service", now)
    elif now == "activating":
        yield warning(
            "service", "about to start", "`journalctl -u edgefaced` says what it waits for"
        )
    else:
        yield fault(
            "service", f"{now}", "`journalctl -u edgefaced` says why; `systemctl start edgefaced`"
        )


def state_of_the_unit() -> str | None:
    """ "active", "failed" and so on; None where systemd is not there to be asked."""
    if shutil.which("systemctl") is None or not Path("/run/systemd/system").is_dir():
        return None
    try:
        answer = subprocess.run(
            ["systemctl", "is-active", UNIT],
            capture_output=True,
            text=True,
            timeout=ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None


def daemon(sockets: Sequence[Path], *, expected: bool) -> Iterator[Finding]:
    """Whether one answers, and what it has to complain of; it is `expected` where a service is."""
    try:
        with connect(sockets) as client:
            status = client.ask("status")["status"]
    except NotRunning as error:
        yield failed("daemon", error, Level.FAULT if expected else Level.OK)
        return
    except Forbidden as error:
        yield failed("daemon", error, Level.WARNING)
        return
    except EdgefacedError as error:
        yield failed("daemon", error)
        return
    yield from _complaints(status)


def _complaints(status: dict[str, Any]) -> Iterator[Finding]:
    yield well("daemon", f"answers; version {status['version']}, pack {status['pack']}")
    if not status["camera"]["up"]:
        yield fault("daemon", "its camera gives no pictures", "`journalctl -u edgefaced` says why")
    for network in status["networks"]:
        if network["fallback"] is not None:
            yield warning("daemon", f"{network['network']} runs on the CPU: {network['fallback']}")
    ledger = status["ledger"]
    if ledger is not None and ledger["fault"] is not None:
        yield fault("daemon", f"nothing is recorded: {ledger['fault']}")
    for name, sink in status["sinks"].items():
        if sink["fault"] is not None:
            yield warning("daemon", f"{name} takes no events: {sink['fault']}")
