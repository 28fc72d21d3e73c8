"""Finding one named file of a Python project on the indexes and folders that pip would use."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.request import url2pathname

from edgefaced.errors import DependencyMissing, DownloadError, extra
from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.fetch.transport import Transport, shown, translated

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage


@dataclass(frozen=True, slots=True)
class Links:
    """A folder, or a page with links (`find-links`)."""

    where: str


@dataclass(frozen=True, slots=True)
class Index:
    """A simple repository: a page for each project."""

    where: str


Place = Links | Index


def places(config: PipConfig) -> list[Place]:
    """Where pip would look; what lies on this machine comes first, as the hash is pinned."""
    found: list[Place] = [Links(where) for where in config.find_links]
    if not config.no_index:
        found += [Index(where) for where in (_default(config), *config.extra_index_urls)]
    return sorted(found, key=lambda place: _local(place.where) is None)


def look(place: Place, project: str, file: str, transport: Transport) -> Path | str | None:
    """Path or URL of the file, None where the place does not have it. Raises DownloadError."""
    local = _local(place.where)
    match place:
        case Links() if local is not None and local.is_dir():
            here = local / file
            return here if here.is_file() else None
        case Links() if local is not None:
            return _linked(_read(local), local.as_uri(), project, file)
        case Links():
            return _linked(_get(place.where, transport), place.where, project, file)
        case Index() if local is not None:
            page = local / _normalised(project) / "index.html"
            return _linked(_read(page), page.as_uri(), project, file) if page.exists() else None
        case Index():
            packages = _project_page(place.where, project, transport)
            return _pick(packages, place.where, file)


def _default(config: PipConfig) -> str:
    if config.index_url is not None:
        return config.index_url
    return str(_pypi_simple().PYPI_SIMPLE_ENDPOINT)


def _local(where: str) -> Path | None:
    """The path that a place is, or None for one on the network."""
    parts = urlsplit(where)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path))
    return None if parts.scheme in ("http", "https") else Path(where).expanduser().absolute()


def _project_page(url: str, project: str, transport: Transport) -> list[DistributionPackage]:
    simple = _pypi_simple()
    client = simple.PyPISimple(url, session=transport.session)

    def ask() -> list[DistributionPackage]:
        with translated(url), warnings.catch_warnings():
            # A newer minor version of the index's interface is no concern of the person's.
            warnings.simplefilter("ignore", simple.UnexpectedRepoVersionWarning)
            page = client.get_project_page(project, timeout=transport.timeout_seconds)
            return list(page.packages)

    try:
        return transport.persist(ask)
    except simple.NoSuchProjectError:
        return []
    except (simple.UnsupportedRepoVersionError, ValueError) as error:
        raise DownloadError(f"{shown(url)}: {error}", "is it a package index?") from error


def _linked(page: bytes, url: str, project: str, file: str) -> Path | str | None:
    simple = _pypi_simple()
    packages = simple.ProjectPage.from_html(project, page, base_url=url).packages
    return _pick(packages, url, file)


def _pick(packages: list[DistributionPackage], base: str, file: str) -> Path | str | None:
    for package in packages:
        if package.filename == file:
            url = urldefrag(urljoin(base, package.url)).url
            return _local(url) or url
    return None


def _get(url: str, transport: Transport) -> bytes:
    def ask() -> bytes:
        with translated(url):
            answer = transport.session.get(url, timeout=transport.timeout_seconds)
            answer.raise_for_status()
            return answer.content

    return transport.persist(ask)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DownloadError(f"{path}: {error.strerror or error}") from error


def _normalised(project: str) -> str:
    return re.sub(r"[-_.]+", "-", project).lower()


def _pypi_simple() -> ModuleType:
    try:
        import pypi_simple
    except ModuleNotFoundError as error:
        raise DependencyMissing(
            "pulling from a package index needs pypi-simple", extra("models")
        ) from error
    return pypi_simple
