"""What scenes ask the command line in the machine for, as values."""

from __future__ import annotations

import json
from typing import Any

from tests.system.vm.machine import Machine


def asked(door: Machine, command: str) -> dict[str, Any]:
    """The document of `edgefaced COMMAND --json`. Raises SceneError where that fails."""
    said: dict[str, Any] = json.loads(door.run(f"edgefaced {command} --json").out)
    return said


def status(door: Machine) -> dict[str, Any]:
    """Of the daemon."""
    return dict(asked(door, "status")["status"])


def events(door: Machine, kind: str) -> list[dict[str, Any]]:
    """All of one kind that are in the ledger, oldest first."""
    return list(asked(door, f"events list --limit 1000000 --kind {kind}")["events"])
