"""The control socket's server: one thread that lets clients in, and one for each of them.

Nothing here is waited for by the pipeline. A client that is slow, silent, hostile or gone costs
its own thread, for a bounded time.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from edgefaced.control.contract import Document, Request, line_of, parse, refusal
from edgefaced.control.peer import Access, AccessRule, Peer, peer_of
from edgefaced.control.place import listening
from edgefaced.errors import ControlBusy, EdgefacedError, Forbidden, UsageError


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Bounds on what clients may cost. A request must be complete, and a line must be taken,
    within its seconds; the last `grace_seconds` are for streams to end by themselves.
    """

    clients: int = 16
    request_bytes: int = 16384
    request_seconds: float = 30.0
    send_seconds: float = 10.0
    grace_seconds: float = 1.0


Answers = Generator[Document | None, None, None]
Answering = Callable[[Request, Access, Peer], Answers]
"""Answers of a request, in the client's thread; None is "nothing yet", at least every second."""


class ControlServer(AbstractContextManager["ControlServer"]):
    """Serves from `__enter__` to `close`."""

    def __init__(
        self,
        path: Path,
        answering: Answering,
        rule: AccessRule,
        limits: ServerLimits | None = None,
    ) -> None:
        self._path = path
        self._answering = answering
        self._rule = rule
        self._limits = limits or ServerLimits()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._clients: dict[threading.Thread, socket.socket] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Raises ConfigError where there can be no socket."""
        listener = self._stack.enter_context(listening(self._path))
        doorman = threading.Thread(
            target=self._let_in, args=(listener,), name="control", daemon=True
        )
        doorman.start()
        self._stack.callback(doorman.join)
        # Wakes the doorman, who waits for nobody any more.
        self._stack.callback(listener.shutdown, socket.SHUT_RDWR)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every conversation, politely and then not, and removes the socket."""
        self._stop.set()
        self._stack.close()
        deadline = time.monotonic() + self._limits.grace_seconds
        with self._lock:
            clients = dict(self._clients)
        for thread in clients:
            thread.join(max(deadline - time.monotonic(), 0.0))
        for thread, connection in clients.items():
            if thread.is_alive():
                with suppress(OSError):  # it has just ended
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in clients:
            thread.join(self._limits.grace_seconds)

    def _let_in(self, listener: socket.socket) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                # The end, or no descriptors left: then a moment, so as not to spin.
                self._stop.wait(0.1)
                continue
            thread = threading.Thread(
                target=self._serve, args=(connection,), name="control client", daemon=True
            )
            with self._lock:
                self._clients[thread] = connection
            try:
                thread.start()
            except RuntimeError:  # the process may have no more threads
                connection.close()
                with self._lock:
                    del self._clients[thread]

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):  # a client that has gone, or takes too long
                connection.settimeout(self._limits.send_seconds)
                self._converse(connection)
        finally:
            with self._lock:
                del self._clients[threading.current_thread()]

    def _converse(self, connection: socket.socket) -> None:
        peer = peer_of(connection)
        access = self._rule.access(peer)
        if access is Access.NONE:
            error: EdgefacedError = Forbidden(
                "this user may not speak to the daemon",
                "only root, its own user and, where the configuration allows it, its group may",
            )
            connection.sendall(line_of(refusal(error)))
            return
        with self._lock:
            crowded = len(self._clients) > self._limits.clients
        if crowded:
            error = ControlBusy(f"{self._limits.clients} clients are connected", "try again later")
            connection.sendall(line_of(refusal(error)))
            return
        rest = b""
        while not self._stop.is_set():
            try:
                line, rest = self._read_line(connection, rest)
            except UsageError as too_long:
                connection.sendall(line_of(refusal(too_long)))
                return
            if line is None or not self._answer(connection, line, access, peer):
                return

    def _read_line(self, connection: socket.socket, rest: bytes) -> tuple[bytes | None, bytes]:
        """A line and what came after it; None where the client has gone. Raises TimeoutError."""
        deadline = time.monotonic() + self._limits.request_seconds
        while b"\n" not in rest:
            if len(rest) > self._limits.request_bytes:
                raise UsageError(f"a request has {self._limits.request_bytes} bytes at most")
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            more = connection.recv(4096)
            if not more:
                return None, b""
            rest += more
        connection.settimeout(self._limits.send_seconds)
        line, _, rest = rest.partition(b"\n")
        return line, rest

    def _answer(self, connection: socket.socket, line: bytes, access: Access, peer: Peer) -> bool:
        """Whether the client may ask again: not after a stream, whose end is that of the talk."""
        streams = False
        try:
            with closing(self._answering(parse(line), access, peer)) as answers:
                for document in answers:
                    if document is not None:
                        streams = streams or "stream" in document
                        connection.sendall(line_of(document))
                    elif self._stop.is_set() or _has_gone(connection):
                        return False
        except EdgefacedError as error:
            connection.sendall(line_of(refusal(error)))
        return not streams


def _has_gone(connection: socket.socket) -> bool:
    """Whether the other end is closed; what it may have sent stays where it is."""
    seconds = connection.gettimeout()
    connection.setblocking(False)  # with a time-out, Python waits in spite of MSG_DONTWAIT
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    finally:
        connection.settimeout(seconds)
