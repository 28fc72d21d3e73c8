"""The page that Prometheus reads: one thread, one reader at a time, gone when it is closed."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from socketserver import TCPServer
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from edgefaced.errors import ConfigError, DependencyMissing, extra
from edgefaced.metrics.families import families
from edgefaced.vitals import Vitals

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

REQUEST_SECONDS = 2.0
"""After which a reader that says nothing is left, so that it keeps nobody else out."""


class MetricsServer(AbstractContextManager["MetricsServer"]):
    """Serves the metrics of `vitals` at /metrics until it is closed."""

    def __init__(self, vitals: Callable[[], Vitals], address: str, port: int) -> None:
        """Port 0 takes any that is free. Raises DependencyMissing without prometheus-client and
        ConfigError for an address that cannot be had.
        """
        registry = registry_of(vitals)
        from prometheus_client import make_wsgi_app

        kind = _Server6 if ":" in address else _Server
        try:
            self._server = kind((address, port), _Handler)
        except OSError as error:
            raise ConfigError(
                f"metrics.port = {port}: {error.strerror or error} at {address}",
                "another port, or none",
            ) from error
        self._server.set_app(make_wsgi_app(registry))
        self.port: int = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; a reader of the moment is cut off."""
        self._server.cut_off()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __exit__(self, *_: object) -> None:
        self.close()


def registry_of(vitals: Callable[[], Vitals]) -> CollectorRegistry:
    """A registry that asks `vitals` at every reading. Raises DependencyMissing."""
    try:
        from prometheus_client import CollectorRegistry, ProcessCollector
        from prometheus_client.registry import Collector
    except ImportError as error:
        raise DependencyMissing(
            "metrics need the package prometheus-client", extra("metrics")
        ) from error

    class Live(Collector):
        def collect(self) -> Iterable[Metric]:
            return families(vitals())

    registry = CollectorRegistry()
    registry.register(Live())
    ProcessCollector(registry=registry)
    return registry


class _Handler(WSGIRequestHandler):
    timeout = REQUEST_SECONDS

    def log_message(self, format: str, *args: object) -> None:
        """Readers come every few seconds: they are no news."""


class _Server(WSGIServer):
    _reader: socket.socket | None = None
    _closing = False

    def server_bind(self) -> None:
        # HTTPServer would ask the name service for the host's name, which may take its time.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.socket.getsockname()[:2]
        self.setup_environ()

    def get_request(self) -> tuple[socket.socket, object]:
        reader, address = super().get_request()
        self._reader = reader
        if self._closing:
            reader.close()
            raise ConnectionAbortedError("closing")
        return reader, address

    def cut_off(self) -> None:
        """Nobody new is served, and whoever is being served hears nothing more; any thread."""
        self._closing = True
        if self._reader is not None:
            with suppress(OSError):  # it has been served already
                self._reader.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), OSError):  # a reader that has gone is no fault of ours
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as it came


class _Server6(_Server):
    address_family = socket.AF_INET6
