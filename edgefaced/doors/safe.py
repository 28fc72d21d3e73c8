"""Making every output inactive from outside: at boot, and after everything was killed."""

from __future__ import annotations

import time
from collections.abc import Iterable

from edgefaced.doors.outputs import take
from edgefaced.doors.wires import LockWires, Wire
from edgefaced.errors import EdgefacedError, GpioBusy

PATIENCE_SECONDS = 5.0
"""A guard whose daemon has gone is gone within milliseconds."""


def make_safe(locks: Iterable[LockWires], patience_seconds: float = PATIENCE_SECONDS) -> list[str]:
    """Takes every line, which makes it inactive, and gives it back; each whatever the others do.

    Whoever holds one has so long to end. Returns their names. Raises the first GpioError or
    DependencyMissing after all were tried.
    """
    failure: EdgefacedError | None = None
    done = []
    until = time.monotonic() + patience_seconds
    for wire in dict.fromkeys(wire for lock in locks for wire in lock.outputs):
        try:
            _make_inactive(wire, until)
        except EdgefacedError as error:
            failure = failure or error
        else:
            done.append(wire.line)
    if failure is not None:
        raise failure
    return done


def _make_inactive(wire: Wire, until: float) -> None:
    """Waits for a line that somebody holds. Raises GpioError or DependencyMissing."""
    while True:
        try:
            take((LockWires("", relay=wire),)).close()
        except GpioBusy:
            if time.monotonic() >= until:
                raise
            time.sleep(0.02)
        else:
            return
