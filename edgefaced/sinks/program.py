"""Running a program that may hang, fork, or talk without end, within bounds."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from edgefaced.sinks.patience import Patience

KEPT_BYTES = 4096
"""Of what a program says, the end."""
SLICE_SECONDS = 0.05
MUTE_SECONDS = 0.01
REAP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: with an exit code (negative: by that signal), or None if stopped here.

    `said` is the end of what it wrote to stdout and stderr.
    """

    code: int | None
    said: bytes


def run_bounded(
    argv: Sequence[str],
    given: bytes,
    environment: Mapping[str, str],
    patience: Patience,
) -> Ended:
    """Runs a program with `given` on stdin until it ends or `patience` is over.

    Whatever it started in its process group is killed then. Raises OSError where it cannot be run.
    """
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", buffering=0):
        with os.fdopen(writer, "wb") as its_output, document(given) as its_input:
            process = subprocess.Popen(
                argv,
                stdin=its_input,
                stdout=its_output,
                stderr=its_output,
                env=environment,
                cwd="/",
                start_new_session=True,
            )
        ear, over = Ear(reader), False
        try:
            while not over and not patience.is_over():
                over = _has_ended(process.pid)
                ear.listen(0 if over else SLICE_SECONDS)
        finally:
            code = _put_an_end_to(process)
    return Ended(code if over else None, bytes(ear.heard))


@contextmanager
def document(content: bytes) -> Iterator[IO[bytes]]:
    """A file in memory: whether a program reads it or not, nobody waits for that."""
    with os.fdopen(os.memfd_create("event"), "w+b", buffering=0) as file:
        file.write(content)
        file.seek(0)
        yield file


class Ear:
    """Takes in what comes through a pipe, however much it is, and remembers the end of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._open = True
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        os.set_blocking(descriptor, False)
        self.heard = bytearray()

    def listen(self, seconds: float) -> None:
        """Waits so long for something to come and takes what is there."""
        if not self._open:  # it ends at once, or lives on without an output
            time.sleep(min(seconds, MUTE_SECONDS))
        elif self._poll.poll(seconds * 1000):
            piece = os.read(self._descriptor, 1 << 16)
            self._open = bool(piece)
            self.heard += piece
            del self.heard[:-KEPT_BYTES]


def _has_ended(pid: int) -> bool:
    """Whether it is over; it is not reaped by looking."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _put_an_end_to(process: subprocess.Popen[bytes]) -> int:
    # Its id is not given to others before it is reaped, so this meets nobody else. What forks
    # without end is met as well: the kernel lets no process of the group fork meanwhile.
    with suppress(PermissionError):  # it has become somebody else's
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.wait(REAP_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"process {process.pid} cannot be killed") from error
