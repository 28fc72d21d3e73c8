"""A TCP port that leads to a Unix socket, and can be closed while the server behind it restarts."""

from __future__ import annotations

import selectors
import socket
import threading
from contextlib import suppress
from pathlib import Path


class Gate:
    """Passes bytes both ways in a thread of its own. Its port stays the same over any number of
    lives of the server; while it is shut, whoever connects is turned away.
    """

    def __init__(self, server: Path) -> None:
        self._server = server
        self._open = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._wake, self._woken = socket.socketpair()
        for end in (self._listener, self._woken):
            self._selector.register(end, selectors.EVENT_READ)
        self._others: dict[socket.socket, socket.socket] = {}
        self._thread = threading.Thread(target=self._run, name="gate")
        self._thread.start()
        self.turned_away = 0

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def open(self) -> None:
        """From now on whoever connects gets through."""
        self._open.set()

    def shut(self) -> None:
        """From now on nobody gets through who is not through already."""
        self._open.clear()

    def close(self) -> None:
        self._wake.send(b"!")
        self._thread.join()
        for way in (*self._others, self._listener, self._wake, self._woken):
            way.close()
        self._selector.close()

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    return
                if key.fileobj is self._listener:
                    self._admit()
                elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._others:
                    self._pass_on(key.fileobj)

    def _admit(self) -> None:
        here, _ = self._listener.accept()
        there = socket.socket(socket.AF_UNIX)
        try:
            if not self._open.is_set():
                raise ConnectionRefusedError
            there.connect(str(self._server))
        except OSError:
            self.turned_away += 1
            here.close()
            there.close()
            return
        here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for way, other in ((here, there), (there, here)):
            self._others[way] = other
            self._selector.register(way, selectors.EVENT_READ)

    def _pass_on(self, way: socket.socket) -> None:
        other = self._others[way]
        data = b""
        with suppress(OSError):  # one side is gone
            data = way.recv(1 << 16)
            other.sendall(data)
        if not data:
            for end in (way, other):
                self._selector.unregister(end)
                del self._others[end]
                end.close()
