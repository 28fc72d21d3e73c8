"""A small process that holds the lines of the doors, and outlives the daemon by a moment.

`python -m edgefaced.doors.guard` is told on standard input what to hold and when to unlock what,
and reports on standard output. It makes a relay inactive when its time is over by its own clock,
and all of them when its input ends: a daemon that is killed in the middle of a pulse, or hangs,
leaves no door open. What it has unlocked it notes in a small file first, so that whoever comes
after its own death can tell.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType

from edgefaced.clock import boot_ns, boot_seconds
from edgefaced.doors.outputs import Outputs, take
from edgefaced.doors.wires import (
    Fault,
    Frame,
    Late,
    Lock,
    Locked,
    Pulse,
    Ready,
    Report,
    Sent,
    Unlocked,
    read_order,
    read_wires,
    written,
)
from edgefaced.errors import EdgefacedError

LONGEST_WAIT_SECONDS = 5.0
LONGEST_UNLOCKED_WAIT_SECONDS = 0.5
"""A wait stands still while the board is suspended, and a pulse does not."""
LATEST_NS = 1_000_000_000
"""An order that is older opens nothing: whoever it was for has gone."""


class Marker:
    """Which doors are unlocked, in a file. A disk that does not take it keeps no door shut."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def take_over(self) -> Ready:
        """What an earlier guard left; the file is then fresh."""
        try:
            body = json.loads(self._file.read_bytes())
            ready = Ready(tuple(body["active"]), tuple(body["lowered"]))
        except (OSError, ValueError, KeyError, TypeError):
            ready = Ready()
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        return ready

    def note(self, active: tuple[str, ...], lowered: tuple[str, ...] = ()) -> None:
        """Not synced: it is for the death of processes, not of power, which takes the relay too."""
        with suppress(OSError):
            if active or lowered:
                self._file.write_text(json.dumps({"active": active, "lowered": lowered}))
            else:
                self._file.unlink(missing_ok=True)


class Guard:
    """Does as it is told, and what must be done in time."""

    def __init__(self, outputs: Outputs, marker: Marker, reports: int) -> None:
        """`reports` is a descriptor that never blocks."""
        self._outputs = outputs
        self._marker = marker
        self._reports = reports

    def run(self, orders: int, rest: bytes = b"") -> None:
        """Until the orders end. Raises GpioError or ValueError where it cannot go on.

        `rest` was read already, together with the first line.
        """
        poll = select.poll()
        poll.register(orders, select.POLLIN)
        while True:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                self._obey(line)
            due = self._outputs.next_due
            wait = LONGEST_WAIT_SECONDS
            if due is not None:
                wait = min(due - boot_seconds(), LONGEST_UNLOCKED_WAIT_SECONDS)
            ready = poll.poll(max(wait, 0.0) * 1000)
            self._lock_due()
            if not ready:
                continue
            more = os.read(orders, 65536)
            if not more:
                return
            rest += more

    def _obey(self, line: bytes) -> None:
        order = read_order(line)
        match order:
            case Pulse(at_ns=at_ns) | Frame(at_ns=at_ns) if _is_late(at_ns):
                self.report(Late(order.door))
            case Pulse(door, milliseconds):
                self._marker.note((*self._outputs.unlocked, door))
                if self._outputs.unlock(door, milliseconds, boot_seconds()):
                    self.report(Unlocked(door, boot_ns()))
            case Lock(door):
                if self._outputs.lock(door):
                    self._tell_locked(door)
            case Frame(door, bits):
                pulse_us, gap_us = self._outputs.send(door, bits, self._lock_due)
                self.report(Sent(door, pulse_us, gap_us))

    def _lock_due(self) -> None:
        for door in self._outputs.lock_due(boot_seconds()):
            self._tell_locked(door)

    def _tell_locked(self, door: str) -> None:
        at_ns = boot_ns()
        self._marker.note(self._outputs.unlocked)
        self.report(Locked(door, at_ns))

    def report(self, report: Report) -> None:
        """A daemon that does not read loses reports; the guard waits for nobody."""
        with suppress(OSError):
            os.write(self._reports, written(report))

    def finish(self) -> None:
        """Makes everything inactive, and then notes what still was active."""
        active = self._outputs.unlocked
        self._outputs.close()
        self._marker.note((), active)


def main() -> int:
    """The process: 0 where its input ended, 1 where a line failed."""
    # A Ctrl-C in the terminal is for the daemon, whose end is this one's.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Nothing here makes cycles, and a collection in the middle of a frame would stretch a pulse.
    gc.disable()
    os.set_blocking(sys.stdout.fileno(), False)
    orders = sys.stdin.fileno()
    first = b""
    while b"\n" not in first:
        more = os.read(orders, 65536)
        if not more:
            return 0
        first += more
    wires, _, rest = first.partition(b"\n")
    try:
        locks, marker_file = read_wires(wires)
        outputs = take(locks)
    except (EdgefacedError, ValueError) as error:
        return _give_up(error)
    return _watch_over(outputs, Marker(Path(marker_file)), orders, rest)


def _watch_over(outputs: Outputs, marker: Marker, orders: int, rest: bytes) -> int:
    guard = Guard(outputs, marker, sys.stdout.fileno())
    code = 0
    try:
        signal.signal(signal.SIGTERM, _stop)
        guard.report(marker.take_over())
        guard.run(orders, rest)
    except (EdgefacedError, OSError, ValueError, KeyError) as error:
        code = _give_up(error)
    except Stopped:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            guard.finish()
        except EdgefacedError as error:
            code = _give_up(error)
    return code


def _is_late(at_ns: int) -> bool:
    return not 0 <= boot_ns() - at_ns <= LATEST_NS


class Stopped(Exception):
    """Somebody has asked the guard itself to end."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


def _give_up(error: Exception) -> int:
    with suppress(OSError):
        os.write(sys.stdout.fileno(), written(Fault(str(error))))
    return 1


if __name__ == "__main__":
    sys.exit(main())
