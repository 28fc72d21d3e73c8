"""A program at a real terminal: what it asks is read, what a person types is written."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

PATIENCE_SECONDS = 90.0
"""Only what hangs takes so long."""


class Terminal:
    """The program's stdin, stdout and stderr are one terminal, which is its controlling one."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *words],
            env={**environment, "TERM": "dumb", "COLUMNS": "200"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self.said = ""
        self._read = 0

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._ours)  # the terminal hangs up
        try:
            self.process.wait(PATIENCE_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()

    def expect(self, words: str) -> None:
        """Waits until the program has said this since the last time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while words not in self.said[self._read :]:
            if not self._more(deadline - time.monotonic()):
                raise AssertionError(f"{words!r} was not said:\n{self.said}")
        self._read = self.said.index(words, self._read) + len(words)

    def answer(self, question: str, line: str) -> None:
        """Waits for the question and its prompt, and types a line."""
        self.expect(question)
        self.expect("]: ")
        self.type(line + "\n")

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """Reads until the program has ended; its exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._more(deadline - time.monotonic()):
            pass
        return self.process.wait(PATIENCE_SECONDS)

    def _more(self, seconds: float) -> bool:
        """Reads what comes within so many seconds; False at the end, or when nothing came."""
        readable, _, _ = select.select([self._ours], [], [], max(seconds, 0.0))
        try:
            data = os.read(self._ours, 65536) if readable else b""
        except OSError:  # EIO: nobody has the other end any more
            data = b""
        self.said += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
