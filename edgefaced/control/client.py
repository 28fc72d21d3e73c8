"""The other end of the control socket: asks, and reads answers line by line."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from edgefaced.control.contract import CONTRACT_VERSION, Document, error_of, line_of
from edgefaced.errors import Forbidden, NotRunning

ANSWER_SECONDS = 15.0
MOST_LINE_BYTES = 1 << 20


class ControlClient(AbstractContextManager["ControlClient"]):
    """One conversation with a daemon."""

    def __init__(self, connection: socket.socket) -> None:
        """The socket is ours from now on."""
        self._connection = connection
        self._received = b""

    def ask(self, command: str, **options: object) -> Document:
        """The first line of the answer. Raises the error that the daemon gives as its answer."""
        request = {"contract_version": CONTRACT_VERSION, "command": command, **options}
        try:
            self._connection.settimeout(ANSWER_SECONDS)
            self._connection.sendall(line_of(request))
        except OSError:
            pass  # it may have said why before it closed
        first = self._next()
        if first is None:
            raise NotRunning("the daemon closed the connection", "`edgefaced status` says if it is")
        return first

    def follow(self, seconds: float | None = None) -> Iterator[Document]:
        """The lines after the first until the daemon ends the stream, or for so many seconds.

        It may be called again: no line is lost between.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            self._connection.settimeout(left)
            try:
                line = self._line()
            except TimeoutError:
                return
            if (document := _document(line)) is None:
                return
            yield document

    def close(self) -> None:
        self._connection.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> Document | None:
        """None at the end. Raises NotRunning for silence and for what is no answer."""
        try:
            return _document(self._line())
        except TimeoutError as error:
            raise NotRunning(f"the daemon does not answer within {ANSWER_SECONDS:g} s") from error

    def _line(self) -> bytes:
        """Empty at the end. Raises TimeoutError, and what was received so far stays."""
        while b"\n" not in self._received and len(self._received) < MOST_LINE_BYTES:
            try:
                data = self._connection.recv(65536)
            except ConnectionError:  # it closed without having read all that was sent
                data = b""
            if not data:
                break
            self._received += data
        line, newline, self._received = self._received.partition(b"\n")
        return line + newline


def _document(line: bytes) -> Document | None:
    if not line:
        return None
    try:
        document = json.loads(line)
    except ValueError as error:
        raise NotRunning("what answers is no edgefaced") from error
    if not isinstance(document, dict):
        raise NotRunning("what answers is no edgefaced")
    if document.get("ok") is False:
        raise error_of(document)
    return document


def connect(places: Sequence[Path]) -> ControlClient:
    """To the first place where a daemon answers. Raises NotRunning or Forbidden."""
    for path in places:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.connect(str(path))
        except PermissionError as error:
            connection.close()
            raise Forbidden(
                f"{path}: this user may not speak to the daemon",
                "ask as root, or as a member of its group",
            ) from error
        except OSError:
            connection.close()
        else:
            return ControlClient(connection)
    tried = ", ".join(str(path) for path in places)
    raise NotRunning("edgefaced is not running", f"nobody answers at {tried}")
