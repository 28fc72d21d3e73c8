"""Proxies, certificates and logins: what pip is told holds here too."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from local_server import LocalServer, Resource, running

from edgefaced.errors import DownloadError
from edgefaced.models.fetch.download import Pin, download
from edgefaced.models.fetch.index import Index, look
from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.fetch.transport import Transport
from edgefaced.models.progress import Silent

CONTENT = b"weights"
Open = Callable[[PipConfig], Transport]
LOGIN = "Basic " + base64.b64encode(b"me:secret").decode()


@pytest.fixture
def get(way_open: Open, tmp_path: Path) -> Callable[[str, PipConfig], bytes]:
    """Downloads a URL as a pip of that configuration would."""

    def fetch(url: str, config: PipConfig) -> bytes:
        target = tmp_path / "got"
        download(url, target, Pin(None, None), way_open(config), Silent())
        return target.read_bytes()

    return fetch


Get = Callable[[str, PipConfig], bytes]
ELSEWHERE = "http://models.invalid/net.onnx"


def test_the_proxy_of_the_environment_is_used(
    server: LocalServer, get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add(ELSEWHERE, Resource(CONTENT))
    monkeypatch.setenv("http_proxy", server.url)
    assert get(ELSEWHERE, PipConfig()) == CONTENT


def test_the_proxy_of_pip_wins_over_the_environment(
    server: LocalServer, get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add(ELSEWHERE, Resource(CONTENT))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert get(ELSEWHERE, PipConfig(proxy=server.url)) == CONTENT


def test_no_proxy_is_honoured(
    server: LocalServer, get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add("/net.onnx", Resource(CONTENT))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert get(f"{server.url}/net.onnx", PipConfig()) == CONTENT


def with_login(server: LocalServer) -> str:
    return server.url.replace("//", "//me:secret@")


def test_the_login_of_an_index_holds_for_its_files(
    server: LocalServer, way_open: Open, get: Get
) -> None:
    page = f'<a href="{server.url}/files/faces-1.0.tar.gz">faces-1.0.tar.gz</a>'
    server.add("/simple/faces/", Resource(page.encode(), content_type="text/html"))
    server.add("/files/faces-1.0.tar.gz", Resource(CONTENT))
    config = PipConfig(index_url=f"{with_login(server)}/simple/")
    assert config.index_url is not None
    found = look(Index(config.index_url), "faces", "faces-1.0.tar.gz", way_open(config))
    assert isinstance(found, str)
    get(found, config)
    assert [asked.headers["authorization"] for asked in server.asked] == [LOGIN, LOGIN]


def test_a_login_is_not_told_to_another_host(server: LocalServer, get: Get) -> None:
    server.add("/net.onnx", Resource(CONTENT))
    get(f"{server.url}/net.onnx", PipConfig(index_url="http://me:secret@models.invalid/simple/"))
    assert "authorization" not in server.asked[0].headers


def test_a_login_is_in_no_message(server: LocalServer, get: Get) -> None:
    server.add("/net.onnx", Resource(CONTENT * 100, chunked=True))
    with pytest.raises(DownloadError) as caught:
        get(f"{with_login(server)}/gone", PipConfig())
    assert "secret" not in str(caught.value)


@pytest.fixture
def way_open(transport: Transport, request: pytest.FixtureRequest) -> Open:
    opened: Open = request.getfixturevalue("way").open
    return opened


class Identity:
    """A self-signed certificate for this machine, with its key, in files."""

    def __init__(self, folder: Path, name: str) -> None:
        self.cert, self.both = folder / f"{name}.pem", folder / f"{name}-with-key.pem"
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
                critical=False,
            )
            .sign(key, hashes.SHA256())
        )
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        self.cert.write_bytes(pem)
        self.both.write_bytes(
            pem
            + key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return Identity(tmp_path, "server")


@pytest.fixture
def secure(identity: Identity, tmp_path: Path) -> Iterator[LocalServer]:
    """An https server that asks for a client's certificate and takes its own for one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.both)
    context.load_verify_locations(identity.cert)
    context.verify_mode = ssl.CERT_OPTIONAL
    local = LocalServer()
    local.socket = context.wrap_socket(local.socket, server_side=True)
    local.add("/net.onnx", Resource(CONTENT))
    with running(local):
        yield local


def secure_url(server: LocalServer) -> str:
    return f"https://{server.host}/net.onnx"


def test_the_certificates_of_the_system_are_trusted_through_a_proxy_as_well(
    secure: LocalServer,
    server: LocalServer,
    identity: Identity,
    get: Get,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(identity.cert))  # where OpenSSL finds the system's
    assert get(secure_url(secure), PipConfig()) == CONTENT
    assert get(secure_url(secure), PipConfig(proxy=server.url)) == CONTENT
    assert [asked.path for asked in server.asked] == [f"CONNECT {secure.host}"]


def test_an_unknown_certificate_is_refused(secure: LocalServer, get: Get) -> None:
    with pytest.raises(DownloadError, match="certificate") as caught:
        get(secure_url(secure), PipConfig())
    assert "cert" in caught.value.hint
    assert secure.asked == []


def test_the_certificates_that_pip_is_given_are_trusted(
    secure: LocalServer,
    identity: Identity,
    get: Get,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(Identity(tmp_path, "somebody-else").cert))
    assert get(secure_url(secure), PipConfig(cert=identity.cert)) == CONTENT


@pytest.mark.parametrize("port", [False, True])
def test_a_host_that_pip_trusts_needs_no_certificate(
    secure: LocalServer, get: Get, port: bool
) -> None:
    host = secure.host if port else "127.0.0.1"
    assert get(secure_url(secure), PipConfig(trusted_hosts=(host,))) == CONTENT


def test_trust_in_one_host_is_not_trust_in_another(secure: LocalServer, get: Get) -> None:
    with pytest.raises(DownloadError, match="certificate"):
        get(secure_url(secure), PipConfig(trusted_hosts=("models.invalid", "127.0.0.1:9")))


def test_a_certificate_file_that_is_not_there_is_said(
    secure: LocalServer, get: Get, tmp_path: Path
) -> None:
    gone = tmp_path / "gone.pem"
    trusting = PipConfig(trusted_hosts=("127.0.0.1",), client_cert=gone)
    for config in (PipConfig(cert=gone), trusting):
        with pytest.raises(DownloadError, match=r"gone\.pem"):
            get(secure_url(secure), config)


def test_a_proxy_of_a_kind_that_is_not_known_is_said(secure: LocalServer, get: Get) -> None:
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1"):
        get(secure_url(secure), PipConfig(proxy="gopher://127.0.0.1:9"))


def test_a_client_certificate_is_shown(secure: LocalServer, identity: Identity, get: Get) -> None:
    config = PipConfig(cert=identity.cert, client_cert=identity.both)
    assert get(secure_url(secure), config) == CONTENT
    assert secure.client_certificates == [True]
