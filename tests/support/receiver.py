"""A real web server that takes webhooks, and can be as unfriendly as the real world."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Got:
    """One POST."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Reply:
    """What is answered; `silent` answers nothing, until the client has enough."""

    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    silent: bool = False


class Receiver(ThreadingHTTPServer):
    """Answers with the next of `replies`, then with 204; remembers all that came."""

    daemon_threads = False  # closing the server waits for every connection to end

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        if context is not None:
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        self.scheme = "http" if context is None else "https"
        self.replies: list[Reply] = []
        self.away = False
        """Connections are cut before anything is answered."""
        self.got: list[Got] = []
        self.taken: list[Got] = []
        """Of those, what was answered with 2xx."""
        self.silence = threading.Event()
        """Somebody is being kept waiting."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://localhost:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the game."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        self.close_connection = True
        if self.server.away:
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        got = Got(self.path, {key.lower(): value for key, value in self.headers.items()}, body)
        self.server.got.append(got)
        reply = self.server.replies.pop(0) if self.server.replies else Reply()
        if reply.silent:
            self.server.silence.set()
            self.rfile.read(1)
        elif reply.raw is not None:
            self.wfile.write(reply.raw)
        else:
            if 200 <= reply.status < 300:
                self.server.taken.append(got)
            self.send_response_only(reply.status)
            for key, value in reply.headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """The test says what matters."""


@contextmanager
def receiving(context: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Serves in a thread that has ended when the block has."""
    with Receiver(context) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
