"""The daemon's end of its guard: starts it, tells it what to do, hears what became of it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from edgefaced.doors.wires import LockWires, Order, Report, read_report, written, written_wires

END_SECONDS = 2.0
"""Within which a guard whose input has ended must be gone."""


class GuardGone(Exception):
    """The guard has ended, or is past being told anything."""


class GuardProcess:
    """A running guard. `send` may be called by any thread, the rest by one."""

    def __init__(self, locks: tuple[LockWires, ...], marker: Path) -> None:
        """Raises GuardGone where there can be no process."""
        try:
            self._process = subprocess.Popen(
                # -P: what lies in the folder that one happens to stand in is not for it.
                [sys.executable, "-P", "-m", "edgefaced.doors.guard"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                # Not in the terminal's group: a Ctrl-C there is for the daemon.
                start_new_session=True,
            )
        except OSError as error:
            raise GuardGone(f"the guard cannot be started: {error.strerror}") from error
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        assert self._process.stdout is not None  # noqa: S101 - and this
        self._orders, self._answers = self._process.stdin, self._process.stdout
        os.set_blocking(self._orders.fileno(), False)
        os.set_blocking(self._answers.fileno(), False)
        self._rest = b""
        try:
            self._tell(written_wires(locks, str(marker)))
        except GuardGone:
            self.close()
            raise

    @property
    def fd(self) -> int:
        """Readable when there are reports, or the guard has ended."""
        return self._answers.fileno()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, order: Order) -> None:
        """Never blocks. Raises GuardGone where the guard cannot be told."""
        self._tell(written(order))

    def reports(self) -> tuple[Report, ...]:
        """What has come since the last call. Raises GuardGone once there is nothing more."""
        try:
            more = os.read(self.fd, 65536)
        except BlockingIOError:
            return ()
        if not more:
            self._process.wait()
            raise GuardGone(f"the guard of the locks has ended ({ended(self._process.returncode)})")
        *lines, self._rest = (self._rest + more).split(b"\n")
        try:
            return tuple(read_report(line) for line in lines)
        except ValueError as error:
            raise GuardGone("the guard of the locks talks nonsense") from error

    def close(self) -> None:
        """Ends it; every line is inactive afterwards unless the hardware does not obey."""
        with suppress(OSError):
            self._orders.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            # It hangs. What it held is inactive once the next guard has taken it.
            self._process.kill()
            self._process.wait()
        self._answers.close()

    def kill(self) -> None:
        """For a guard that does not do as it must; `close` is still to be called."""
        self._process.kill()

    def _tell(self, line: bytes) -> None:
        # A line this short is written whole or not at all: pipe(7).
        try:
            sent = os.write(self._orders.fileno(), line)
        except (OSError, ValueError) as error:  # ValueError: closed by us
            raise GuardGone("the guard of the locks takes no orders") from error
        if sent != len(line):
            raise GuardGone("the guard of the locks takes no orders")


def ended(code: int) -> str:
    """How a process ended, in words."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"
