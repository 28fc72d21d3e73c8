"""One suite over every way a pinned file can come: package indexes, folders, URLs, archives."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from archives import tarred, zipped
from local_server import LocalServer, Resource

from edgefaced.errors import DownloadError
from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.fetch.sources import Means, fetch
from edgefaced.models.fetch.transport import Transport
from edgefaced.models.manifest import HttpsSource, PictureSpec, PypiSource, Source
from edgefaced.models.progress import Silent

CONTENT = random.Random(3).randbytes(200_000)
OTHER = random.Random(4).randbytes(len(CONTENT))
MEMBER = "faces-1.0/models/net.onnx"
SDIST = "faces-1.0.tar.gz"


@dataclass(frozen=True)
class Supply:
    """Where a source is set up, with what inside it, and what it becomes."""

    server: LocalServer
    folder: Path
    content: bytes

    @property
    def sdist(self) -> bytes:
        return tarred({"faces-1.0/setup.py": b"raise SystemExit('ran')", MEMBER: self.content})


Ready = tuple[Source, PipConfig]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pypi(supply: Supply) -> PypiSource:
    return PypiSource(
        kind="pypi", project="faces", file=SDIST, sha256=digest(supply.sdist), member=MEMBER
    )


def links_page(url: str) -> bytes:
    return f'<html><body><a href="{url}#sha256=0">{SDIST}</a></body></html>'.encode()


def html_index(supply: Supply) -> Ready:
    supply.server.add("/files/it", Resource(supply.sdist))
    page = Resource(links_page("../../files/it"), content_type="text/html")
    supply.server.add("/simple/faces/", page)
    return pypi(supply), PipConfig(index_url=f"{supply.server.url}/simple/")


def json_index(supply: Supply) -> Ready:
    supply.server.add("/files/it", Resource(supply.sdist))
    project = {
        "meta": {"api-version": "1.1"},
        "name": "faces",
        "versions": ["1.0"],
        "files": [
            {"filename": SDIST, "url": f"{supply.server.url}/files/it", "hashes": {}, "size": 1}
        ],
    }
    body = json.dumps(project).encode()
    kind = "application/vnd.pypi.simple.v1+json"
    supply.server.add("/simple/faces/", Resource(body, content_type=kind))
    return pypi(supply), PipConfig(index_url=f"{supply.server.url}/simple")


def extra_index(supply: Supply) -> Ready:
    source, config = html_index(supply)
    empty = f"{supply.server.url}/empty/"
    return source, PipConfig(index_url=empty, extra_index_urls=(config.index_url or "",))


def file_index(supply: Supply) -> Ready:
    (supply.folder / "files").mkdir()
    (supply.folder / "files" / SDIST).write_bytes(supply.sdist)
    (supply.folder / "simple" / "faces").mkdir(parents=True)
    page = supply.folder / "simple" / "faces" / "index.html"
    page.write_bytes(links_page(f"../../files/{SDIST}"))
    url = (supply.folder / "simple").as_uri()
    return pypi(supply), PipConfig(index_url=f"{supply.server.url}/none/", extra_index_urls=(url,))


def links_folder(supply: Supply) -> Ready:
    (supply.folder / SDIST).write_bytes(supply.sdist)
    return pypi(supply), PipConfig(find_links=(str(supply.folder),), no_index=True)


def links_folder_url(supply: Supply) -> Ready:
    (supply.folder / SDIST).write_bytes(supply.sdist)
    return pypi(supply), PipConfig(find_links=(supply.folder.as_uri(),), no_index=True)


def links_web_page(supply: Supply) -> Ready:
    supply.server.add("/files/it", Resource(supply.sdist))
    supply.server.add("/links", Resource(links_page("files/it"), content_type="text/html"))
    return pypi(supply), PipConfig(find_links=(f"{supply.server.url}/links",), no_index=True)


def links_local_page(supply: Supply) -> Ready:
    (supply.folder / SDIST).write_bytes(supply.sdist)
    page = supply.folder / "links.html"
    page.write_bytes(links_page(SDIST))
    return pypi(supply), PipConfig(find_links=(str(page),), no_index=True)


def plain_url(supply: Supply) -> Ready:
    supply.server.add("/net.onnx", Resource(supply.content))
    return HttpsSource(kind="https", url=f"{supply.server.url}/net.onnx"), PipConfig()


def zip_url(supply: Supply) -> Ready:
    archive = zipped({"readme.txt": b"hello", MEMBER: supply.content})
    supply.server.add("/pack.zip", Resource(archive))
    url = f"{supply.server.url}/pack.zip"
    source = HttpsSource(kind="https", url=url, sha256=digest(archive), member=MEMBER)
    return source, PipConfig()


def unpinned_tar_url(supply: Supply) -> Ready:
    supply.server.add("/pack", Resource(tarred({MEMBER: supply.content}, "w:xz")))
    source = HttpsSource(kind="https", url=f"{supply.server.url}/pack", member=MEMBER)
    return source, PipConfig()


Kind = Callable[[Supply], Ready]

KINDS: tuple[Kind, ...] = (
    html_index,
    json_index,
    extra_index,
    file_index,
    links_folder,
    links_folder_url,
    links_web_page,
    links_local_page,
    plain_url,
    zip_url,
    unpinned_tar_url,
)
ARCHIVES = tuple(kind for kind in KINDS if kind is not plain_url)
PINNED_ARCHIVES = tuple(kind for kind in ARCHIVES if kind is not unpinned_tar_url)


def kinds(which: tuple[Kind, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", which, ids=lambda kind: kind.__name__)


every_kind = kinds(KINDS)


@pytest.fixture
def supply(server: LocalServer, tmp_path: Path) -> Supply:
    folder = tmp_path / "a supply"
    folder.mkdir()
    return Supply(server, folder, CONTENT)


def wanted(*sources: Source) -> PictureSpec:
    return PictureSpec(
        file="net.onnx",
        size_bytes=len(CONTENT),
        sha256=digest(CONTENT),
        credit="",
        source=sources,
    )


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "models" / "files" / "net.onnx"


@pytest.fixture
def means(transport: Transport, tmp_path: Path) -> Means:
    return Means(transport, PipConfig(), tmp_path / "models" / "downloads", Silent())


@every_kind
def test_the_file_arrives(kind: Kind, supply: Supply, means: Means, target: Path) -> None:
    source, config = kind(supply)
    fetch(wanted(source), target, replace(means, config=config))
    assert target.read_bytes() == CONTENT
    assert [p.name for p in target.parent.iterdir()] == [target.name]


@every_kind
def test_other_bytes_under_the_same_name_never_arrive(
    kind: Kind, supply: Supply, means: Means, target: Path
) -> None:
    source, config = kind(replace(supply, content=OTHER))
    with pytest.raises(DownloadError, match="pinned"):
        fetch(wanted(source), target, replace(means, config=config))
    assert not target.exists()
    assert [p for p in means.downloads.rglob("*") if p.is_file()] == []


@kinds(PINNED_ARCHIVES)
def test_an_archive_that_was_changed_is_not_opened(
    kind: Kind, supply: Supply, means: Means, target: Path
) -> None:
    source, config = kind(supply)
    source = source.model_copy(update={"sha256": digest(OTHER)})
    with pytest.raises(DownloadError, match="pinned sha256"):
        fetch(wanted(source), target, replace(means, config=config))
    assert not target.exists()


@kinds(ARCHIVES)
def test_a_missing_member_is_said(kind: Kind, supply: Supply, means: Means, target: Path) -> None:
    source, config = kind(supply)
    source = source.model_copy(update={"member": "faces-1.0/models/gone.onnx"})
    with pytest.raises(DownloadError, match=r"no member faces-1\.0/models/gone\.onnx"):
        fetch(wanted(source), target, replace(means, config=config))


@every_kind
def test_a_source_that_has_nothing_gives_way_to_the_next(
    kind: Kind, supply: Supply, means: Means, target: Path
) -> None:
    nowhere = HttpsSource(kind="https", url=f"{supply.server.url}/gone.zip", member=MEMBER)
    unknown = PypiSource(
        kind="pypi", project="ghost", file=SDIST, sha256=digest(OTHER), member=MEMBER
    )
    source, config = kind(supply)
    fetch(wanted(nowhere, unknown, source), target, replace(means, config=config))
    assert target.read_bytes() == CONTENT


def test_when_nobody_can_deliver_every_reason_is_said(
    supply: Supply, means: Means, target: Path
) -> None:
    nowhere = HttpsSource(kind="https", url=f"{supply.server.url}/gone")
    unknown = PypiSource(
        kind="pypi", project="ghost", file=SDIST, sha256=digest(OTHER), member=MEMBER
    )
    config = PipConfig(index_url=f"{supply.server.url}/simple/")
    with pytest.raises(DownloadError) as caught:
        fetch(wanted(nowhere, unknown), target, replace(means, config=config))
    assert "404" in caught.value.message
    assert f"no package index or folder has {SDIST}" in caught.value.message
    assert "import" in caught.value.hint


def test_a_file_without_sources_comes_by_import(means: Means, target: Path) -> None:
    with pytest.raises(DownloadError, match="names no source") as caught:
        fetch(wanted(), target, means)
    assert "models import" in caught.value.hint


def test_several_members_of_an_archive_cost_one_download(
    supply: Supply, means: Means, target: Path
) -> None:
    source, config = json_index(supply)
    means = replace(means, config=config)
    fetch(wanted(source), target, means)
    fetch(wanted(source), target.with_name("again.onnx"), means)
    assert target.with_name("again.onnx").read_bytes() == CONTENT
    assert len(supply.server.asked_for("/files/it")) == 1


def test_an_archive_that_rotted_between_two_members_is_fetched_again(
    supply: Supply, means: Means, target: Path
) -> None:
    source, config = zip_url(supply)
    means = replace(means, config=config)
    fetch(wanted(source), target, means)
    target.unlink()
    (archive,) = (p for p in means.downloads.rglob("*") if p.is_file())
    archive.write_bytes(b"PK rotten")
    with pytest.raises(DownloadError):
        fetch(wanted(source), target, means)
    fetch(wanted(source), target, means)
    assert target.read_bytes() == CONTENT


def test_no_index_means_no_index(supply: Supply, means: Means, target: Path) -> None:
    source, config = html_index(supply)
    with pytest.raises(DownloadError):
        fetch(wanted(source), target, replace(means, config=replace(config, no_index=True)))
    assert supply.server.asked == []


def test_what_lies_on_this_machine_is_taken_first(
    supply: Supply, means: Means, target: Path
) -> None:
    source, config = html_index(supply)
    _, local = links_folder(supply)
    both = replace(config, find_links=local.find_links)
    fetch(wanted(source), target, replace(means, config=both))
    assert supply.server.asked == []


def test_an_index_that_stumbles_is_asked_again(supply: Supply, means: Means, target: Path) -> None:
    source, config = html_index(supply)
    supply.server.resources["/simple/faces/"].statuses = [503]
    fetch(wanted(source), target, replace(means, config=config))
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "page",
    [
        Resource(b"\x00\x01", content_type="application/octet-stream"),
        Resource(b"{", content_type="application/vnd.pypi.simple.v1+json"),
        Resource(
            b'{"meta": {"api-version": "9.0"}, "name": "faces", "files": []}',
            content_type="application/vnd.pypi.simple.v1+json",
        ),
        Resource(statuses=[403]),
    ],
    ids=["bytes", "broken", "future", "forbidden"],
)
def test_a_page_that_is_no_index_page_is_a_download_error(
    supply: Supply, means: Means, target: Path, page: Resource
) -> None:
    source, config = html_index(supply)
    supply.server.add("/simple/faces/", page)
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1") as caught:
        fetch(wanted(source), target, replace(means, config=config))
    assert "no package index or folder has" not in caught.value.message


def test_a_folder_that_is_not_there_is_passed_over(
    supply: Supply, means: Means, target: Path
) -> None:
    source, config = html_index(supply)
    config = replace(config, find_links=(str(supply.folder / "gone"),))
    fetch(wanted(source), target, replace(means, config=config))
    assert target.read_bytes() == CONTENT
