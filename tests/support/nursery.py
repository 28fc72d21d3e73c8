"""Workers that are born quickly and killed: one Python that has everything imported and forks.

A script of workers calls `fork_for_each_line`; a test holds it by a `Nursery`. A worker writes to
the fifo of its order, so that what it said before it died can be read to the end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


def fork_for_each_line(work: Callable[[dict[str, Any]], None]) -> None:
    """Does the order in each line of stdin in a process of its own, one after the other.

    Line out: the worker's pid when it starts, its wait status once it is dead.
    """
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                work(json.loads(line))
                os._exit(0)
            finally:
                traceback.print_exc()
                os._exit(1)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


class Nursery:
    """The test's end of a script of workers."""

    def __init__(self, script: str | None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def run(self, folder: Path, **order: Any) -> None:
        """A worker that does its order and ends."""
        _, fifo = self._begin(folder, order)
        with fifo.open() as said:
            said.read()
        assert self._end(fifo) == 0

    def run_and_kill(self, folder: Path, *, lines: int, then_s: float, **order: Any) -> list[str]:
        """The whole lines of a worker that says so many, works on for a moment, and is killed."""
        pid, fifo = self._begin(folder, order)
        with fifo.open() as said:
            heard = [said.readline() for _ in range(lines)]
            # Not to wait for anything: the moment of death is drawn by chance.
            time.sleep(then_s)
            os.kill(pid, signal.SIGKILL)
            heard += said.readlines()
        status = self._end(fifo)
        assert os.WIFSIGNALED(status), "the worker died of a fault of its own"
        assert os.WTERMSIG(status) == signal.SIGKILL
        return [line for line in heard if line.endswith("\n")]

    def close(self) -> None:
        """No more orders: the script ends."""
        self._process.communicate()
        assert self._process.returncode == 0

    def _begin(self, folder: Path, order: dict[str, Any]) -> tuple[int, Path]:
        """The worker's pid, and the fifo that it writes to."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        fifo = folder / "fifo"
        os.mkfifo(fifo)
        told = order | {"folder": str(folder), "fifo": str(fifo)}
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline()), fifo

    def _end(self, fifo: Path) -> int:
        """The wait status of the worker that has died."""
        assert self._process.stdout is not None
        status = int(self._process.stdout.readline())
        fifo.unlink()
        return status
