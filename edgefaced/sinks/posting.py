"""One POST at a time, within a time limit that holds whatever the network and the server do."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from edgefaced.config.sinks import is_loopback, shown_url
from edgefaced.errors import ConfigError
from edgefaced.sinks.patience import Patience

SLICE_SECONDS = 0.1
END_SECONDS = 1.0
LONGEST_TARGET = 4096


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to; `target` (path and query) may be a secret and is never shown."""

    host: str
    port: int
    target: str
    tls: bool
    shown: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered; headers as they came."""

    status: int
    retry_after: str | None = None
    date: str | None = None


def endpoint(url: str, *, plain_http: bool = False) -> Endpoint:
    """Raises ConfigError for what is no https URL; http is for this machine, or if allowed."""

    def off(why: str) -> ConfigError:
        return ConfigError(f"webhook.url = {shown_url(url)!r}: {why}", "https://HOST/PATH")

    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError:
        raise off("is no URL") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise off("must be https")
    if parts.username is not None or parts.password is not None:
        raise off("user and password do not belong there; the body is signed")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not (target.isascii() and target.isprintable()) or " " in target:
        raise off("has characters that must be percent-encoded")
    if len(target) > LONGEST_TARGET:
        raise off("is too long")
    tls = parts.scheme == "https"
    if not tls and not plain_http and not is_loopback(host):
        raise off("http to another machine can be read and changed on the way")
    return Endpoint(host, port or (443 if tls else 80), target, tls, shown_url(url))


class Poster:
    """Posts to one endpoint; each POST has a connection of its own and follows no redirect."""

    def __init__(
        self,
        where: Endpoint,
        context: ssl.SSLContext | None,
        *,
        seconds: float,
        stop: threading.Event,
    ) -> None:
        self._where = where
        self._context = context
        self._seconds = seconds
        self._stop = stop
        self._last: Attempt | None = None

    def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Raises OSError: unreachable, not trusted, no HTTP, too slow, or all stops."""
        patience = Patience(self._seconds, self._stop)
        # Looking up a name cannot be interrupted: one that hangs is waited for, not joined by more.
        if self._last is not None and not _has_ended(self._last, patience):
            raise TimeoutError("the look-up of its name hangs")
        attempt = self._last = Attempt(self._connection(), self._where.target, headers, body)
        attempt.start()
        if not _has_ended(attempt, patience):
            self.close()
            raise TimeoutError(f"no answer within {self._seconds:g} s")
        return attempt.outcome()

    def close(self) -> None:
        if self._last is not None:
            self._last.abandon()
            self._last.join(END_SECONDS)

    def _connection(self) -> HTTPConnection:
        where, seconds = self._where, self._seconds
        if not where.tls:
            return HTTPConnection(where.host, where.port, timeout=seconds)
        return HTTPSConnection(where.host, where.port, timeout=seconds, context=self._context)


class Attempt(threading.Thread):
    """One POST in a thread of its own, so that whoever waits for it can stop waiting."""

    def __init__(
        self, connection: HTTPConnection, target: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        super().__init__(name="webhook", daemon=True)
        self._connection = connection
        self._request = target, dict(headers), body
        self._abandoned = threading.Event()
        self._answer: Answer | None = None
        self._error = OSError("it was abandoned")

    def run(self) -> None:
        target, headers, body = self._request
        connection = self._connection
        try:
            connection.connect()
            if self._abandoned.is_set():  # too late: what comes next may be under way already
                return
            connection.request("POST", target, body, headers)
            with connection.getresponse() as response:
                self._answer = Answer(
                    response.status, response.getheader("Retry-After"), response.getheader("Date")
                )
        except OSError as error:
            self._error = error
        except (HTTPException, ValueError) as error:
            self._error = OSError(f"no HTTP: {type(error).__name__}")
        finally:
            connection.close()

    def outcome(self) -> Answer:
        """Once it has ended. Raises what it met."""
        if self._answer is None:
            raise self._error
        return self._answer

    def abandon(self) -> None:
        """Ends it soon, wherever it waits but for the look-up of a name."""
        self._abandoned.set()
        way = self._connection.sock
        if way is not None:
            with suppress(OSError):  # over already
                # Not SSLSocket's, which would take away what the other thread reads from.
                socket.socket.shutdown(way, socket.SHUT_RDWR)


def _has_ended(attempt: Attempt, patience: Patience) -> bool:
    while attempt.is_alive() and not patience.is_over():
        attempt.join(SLICE_SECONDS)
    return not attempt.is_alive()
