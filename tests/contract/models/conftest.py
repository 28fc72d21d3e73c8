"""A server on this machine, and a way to it that does not wait between attempts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from local_server import LocalServer, running

from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.fetch.transport import Transport, open_transport


class Way:
    """Opens transports of a pip configuration; the pauses they would make are noted instead."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.pauses: list[float] = []

    def open(self, config: PipConfig) -> Transport:
        return self._stack.enter_context(open_transport(config, self.pauses.append))


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with running(LocalServer()) as local:
        yield local


@pytest.fixture
def way() -> Iterator[Way]:
    with ExitStack() as stack:
        yield Way(stack)


@pytest.fixture
def pauses(way: Way) -> list[float]:
    """What the transport waited so far, in seconds."""
    return way.pauses


@pytest.fixture
def transport(way: Way) -> Transport:
    return way.open(PipConfig(retries=2))


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine is configured to use is not what is tested."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
