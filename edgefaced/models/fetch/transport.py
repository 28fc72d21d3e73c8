"""The HTTP session of a pull: proxies, certificates and patience of this person's pip."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from edgefaced.errors import DependencyMissing, DownloadError, extra
from edgefaced.models.fetch.adapters import decided, index_login, system_trust
from edgefaced.models.fetch.pip_config import PipConfig

if TYPE_CHECKING:
    import requests

LONGEST_PAUSE_SECONDS = 30.0
# Statuses that another attempt may not meet: the server is busy, or something between failed.
PASSING_STATUS = (408, 425, 429, 500, 502, 503, 504)

Answer = TypeVar("Answer")


class PassingFault(Exception):
    """A fault that another attempt may not meet."""


@dataclass(frozen=True, slots=True)
class Transport:
    """A session, and how patient to be with it; `pause` waits between attempts."""

    session: requests.Session
    timeout_seconds: float
    retries: int
    pause: Callable[[float], None]

    def back_off(self, attempt: int) -> None:
        """Waits after the `attempt`-th failure: half a second, then twice as long each time."""
        self.pause(min(0.5 * 2 ** (attempt - 1), LONGEST_PAUSE_SECONDS))

    def persist(self, action: Callable[[], Answer]) -> Answer:
        """The action's answer, asked for again after a PassingFault. Raises DownloadError."""
        attempt = 1
        while True:
            try:
                return action()
            except PassingFault as fault:
                if attempt > self.retries:
                    raise DownloadError(f"{fault}; tried {attempt} times") from fault
                self.back_off(attempt)
                attempt += 1


@contextmanager
def open_transport(
    config: PipConfig, pause: Callable[[float], None] = time.sleep
) -> Iterator[Transport]:
    """A session that reaches the world as this person's pip does. Raises DependencyMissing."""
    try:
        import requests
    except ModuleNotFoundError as error:
        raise DependencyMissing(f"pulling models needs {error.name}", extra("models")) from error
    with requests.Session() as session:
        session.headers["Accept-Encoding"] = "identity"
        session.auth = index_login([config.index_url or "", *config.extra_index_urls])
        if config.cert is None:
            session.mount("https://", system_trust())
        else:
            session.mount("https://", decided(str(config.cert)))
        if config.client_cert is not None:
            session.cert = str(config.client_cert)
        for host in config.trusted_hosts:
            session.mount(f"https://{host}/", decided(verify=False))
            if ":" not in host:
                session.mount(f"https://{host}:", decided(verify=False))
        if config.proxy is not None:
            # requests would let the proxies of the environment win over these.
            session.trust_env = False
            session.proxies = {"http": config.proxy, "https": config.proxy}
        yield Transport(session, config.timeout_seconds, config.retries, pause)


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Turns the faults of a request into PassingFault or DownloadError."""
    import requests
    import urllib3

    where = urlsplit(url).hostname or url
    try:
        yield
    except requests.HTTPError as error:
        status = 0 if error.response is None else error.response.status_code
        kind = PassingFault if status in PASSING_STATUS else DownloadError
        raise kind(f"{where} answers with status {status}") from error
    except requests.exceptions.SSLError as error:
        raise DownloadError(
            f"{where}: {_cause(error)}", "see pip's options cert and trusted-host"
        ) from error
    except requests.Timeout as error:
        raise PassingFault(f"{where} does not answer in time") from error
    except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
        raise PassingFault(f"{where}: {_cause(error)}") from error
    except urllib3.exceptions.HTTPError as error:
        raise PassingFault(f"{where}: the connection was cut") from error
    except OSError as error:  # every other fault of requests, a missing certificate file too
        raise DownloadError(f"{where}: {_cause(error)}") from error


def shown(url: str) -> str:
    """A URL for a message: without the name and password that it may carry."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _cause(error: BaseException) -> str:
    """The innermost reason in few words; requests wraps an OSError three times."""
    reason: Any = error
    while True:
        inner = getattr(reason, "reason", None) or (reason.args[0] if reason.args else None)
        if not isinstance(inner, BaseException):
            break
        reason = inner
    text = str(getattr(reason, "strerror", None) or reason)
    # urllib3 begins with the connection's own name, which says nothing to a person.
    return re.sub(r"^(<.*?>|\w+\(.*?\)): ", "", text) or type(reason).__name__
