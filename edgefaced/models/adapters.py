"""What requests needs to be told to behave as pip does. Imported where requests is installed."""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase, HTTPBasicAuth
from requests.utils import get_auth_from_url, get_netrc_auth


class SystemTrust(HTTPAdapter):
    """Trusts the certificates of the system besides those of `certifi`, as pip does."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=ssl.create_default_context(), **kwargs)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        return super().proxy_manager_for(proxy, ssl_context=ssl.create_default_context(), **kwargs)


class Decided(HTTPAdapter):
    """What pip is told to trust: a file of certificates, or a host whatever its certificate.

    requests would let an environment variable win over it.
    """

    def __init__(self, verify: str | bool) -> None:
        super().__init__()
        self._verify = verify

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an unverified host: the person has decided
            return super().send(request, *args, **{**kwargs, "verify": self._verify})


class IndexLogin(AuthBase):
    """Names and passwords written in index URLs also hold for the files of the same host."""

    def __init__(self, urls: Iterable[str]) -> None:
        self._logins = {
            urlsplit(url).hostname: login for url in urls if any(login := get_auth_from_url(url))
        }

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        url = request.url or ""
        own = get_auth_from_url(url)
        known = self._logins.get(urlsplit(url).hostname) or get_netrc_auth(url)
        login = own if any(own) else known
        return HTTPBasicAuth(*login)(request) if login else request
