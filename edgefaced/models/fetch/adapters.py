"""What requests needs to be told to behave as pip does."""

from __future__ import annotations

import base64
import ssl
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from requests import PreparedRequest, Response
    from requests.adapters import HTTPAdapter


def system_trust() -> HTTPAdapter:
    """Trusts the certificates of the system besides those of `certifi`."""
    from requests.adapters import HTTPAdapter

    class SystemTrust(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
            super().init_poolmanager(*args, ssl_context=ssl.create_default_context(), **kwargs)

        def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
            context = ssl.create_default_context()
            return super().proxy_manager_for(proxy, ssl_context=context, **kwargs)

    return SystemTrust()


def decided(verify: str | bool) -> HTTPAdapter:
    """Trusts a file of certificates, or, with False, a host whatever its certificate.

    It is the person's decision in pip's configuration; requests would let an environment variable
    win over it.
    """
    from requests.adapters import HTTPAdapter

    class Decided(HTTPAdapter):
        def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of an unverified host
                return super().send(request, *args, **{**kwargs, "verify": verify})

    return Decided()


def index_login(urls: Iterable[str]) -> Callable[[PreparedRequest], PreparedRequest]:
    """Names and passwords written in index URLs also hold for the files of the same host."""
    from requests.utils import get_auth_from_url, get_netrc_auth

    logins = {urlsplit(url).hostname: login for url in urls if any(login := get_auth_from_url(url))}

    def authenticate(request: PreparedRequest) -> PreparedRequest:
        url = request.url or ""
        own = get_auth_from_url(url)
        login = own if any(own) else logins.get(urlsplit(url).hostname) or get_netrc_auth(url)
        if login:
            words = base64.b64encode(":".join(login).encode()).decode()
            request.headers["Authorization"] = f"Basic {words}"
        return request

    return authenticate
