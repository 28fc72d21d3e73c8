"""A real HTTP server on this machine that can be as unreliable as the real world."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Resource:
    """One thing to be fetched, and how the server misbehaves on the way.

    `cut_after` closes the connection after so many bytes of a body, once per entry; `statuses`
    are answered before the content is; `held_at` sends so many bytes, sets `holding` and waits for
    `release`.
    """

    content: bytes = b""
    content_type: str = "application/octet-stream"
    etag: str | None = '"one"'
    ranges: bool = True
    range_off_by: int = 0
    chunked: bool = False
    content_encoding: str | None = None
    location: str | None = None
    cut_after: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    held_at: int | None = None
    holding: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Asked:
    """One request that came in."""

    path: str
    headers: dict[str, str]


class LocalServer(ThreadingHTTPServer):
    """Serves `resources` by path and remembers what was asked."""

    daemon_threads = False  # closing the server waits for every connection to end

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.resources: dict[str, Resource] = {}
        self.asked: list[Asked] = []
        self.client_certificates: list[bool] = []

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def add(self, path: str, resource: Resource) -> Resource:
        self.resources[path] = resource
        return resource

    def asked_for(self, path: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.path == path]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the game."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LocalServer

    def do_GET(self) -> None:
        if isinstance(self.connection, ssl.SSLSocket):
            self.server.client_certificates.append(bool(self.connection.getpeercert()))
        self.server.asked.append(Asked(self.path, {k.lower(): v for k, v in self.headers.items()}))
        resource = self.server.resources.get(self.path)
        if resource is None:
            self.send_error(404)
        elif resource.statuses:
            self.send_error(resource.statuses.pop(0))
        elif resource.location is not None:
            self.send_response(302)
            self.send_header("Connection", "close")
            self.send_header("Location", resource.location)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._send(resource)

    def do_CONNECT(self) -> None:
        """A proxy's way to an https server: bytes go both ways until one side has enough."""
        self.server.asked.append(Asked(f"CONNECT {self.path}", {}))
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            ends = {self.connection: there, there: self.connection}
            while True:
                for ready in select.select(list(ends), [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        self.close_connection = True
                        return
                    ends[ready].sendall(data)

    def _send(self, resource: Resource) -> None:
        body, first = resource.content, 0
        wanted = self.headers.get("Range", "")
        condition = self.headers.get("If-Range")
        if resource.ranges and wanted and condition in (None, resource.etag):
            first = int(wanted.removeprefix("bytes=").rstrip("-"))
            if first >= len(body):
                self.send_error(416)
                return
            self.send_response(206)
            said = first + resource.range_off_by
            self.send_header("Content-Range", f"bytes {said}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        body = body[first:]
        self.send_header("Content-Type", resource.content_type)
        self.send_header("Connection", "close")
        if resource.content_encoding is not None:
            self.send_header("Content-Encoding", resource.content_encoding)
        if resource.etag is not None:
            self.send_header("ETag", resource.etag)
        if resource.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if resource.chunked:
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        elif resource.cut_after:
            self.wfile.write(body[: resource.cut_after.pop(0)])
            self.close_connection = True
        elif resource.held_at is not None:
            self.wfile.write(body[: resource.held_at])
            self.wfile.flush()
            resource.holding.set()
            resource.release.wait()
            self.wfile.write(body[resource.held_at :])
        else:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The test says what matters."""


@contextmanager
def running(server: LocalServer) -> Iterator[LocalServer]:
    """Serves in a thread that has ended when the block has."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            for resource in server.resources.values():
                resource.release.set()
            server.shutdown()
            thread.join()
