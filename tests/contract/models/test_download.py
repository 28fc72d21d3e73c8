"""One URL into one file, over real connections to a server that misbehaves."""

from __future__ import annotations

import gzip
import hashlib
import random
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_server import LocalServer, Resource

from edgefaced.errors import DownloadError, ModelDamaged, StorageError
from edgefaced.models.atomic import partial_of
from edgefaced.models.fetch.download import CHUNK_BYTES, Pin, download
from edgefaced.models.fetch.transport import Transport
from edgefaced.models.progress import Silent

CONTENT = random.Random(1).randbytes(3 * CHUNK_BYTES + 17)
OTHER = random.Random(2).randbytes(len(CONTENT))
HALF = len(CONTENT) // 2
PINNED = Pin(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
UNPINNED = Pin(None, None)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "files" / "model.onnx"


def fetch(
    server: LocalServer, target: Path, transport: Transport, pin: Pin = PINNED, path: str = "/model"
) -> None:
    download(f"{server.url}{path}", target, pin, transport, Silent())


def interrupted(server: LocalServer, target: Path, transport: Transport, content: Resource) -> None:
    """Leaves half of a download behind, as a process that was stopped does."""
    content.cut_after = [HALF] + [0] * transport.retries
    server.add("/model", content)
    with pytest.raises(DownloadError):
        fetch(server, target, transport)
    assert partial_of(target).stat().st_size == HALF
    server.asked.clear()


def only_file(target: Path) -> bool:
    return [p.name for p in target.parent.iterdir()] == [target.name]


def test_a_whole_file_gets_its_name(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    server.add("/model", Resource(CONTENT))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT
    assert only_file(target)
    assert "range" not in server.asked[0].headers


def test_a_file_of_unknown_length_is_fetched(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    server.add("/model", Resource(CONTENT, chunked=True))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT


def test_what_an_earlier_pull_left_is_continued(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    interrupted(server, target, transport, Resource(CONTENT))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT
    assert only_file(target)
    assert [a.headers["range"] for a in server.asked] == [f"bytes={HALF}-"]
    assert server.asked[0].headers["if-range"] == '"one"'


def test_a_server_that_knows_no_ranges_starts_again(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    interrupted(server, target, transport, Resource(CONTENT))
    server.add("/model", Resource(CONTENT, ranges=False))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT
    assert [a.headers["range"] for a in server.asked] == [f"bytes={HALF}-"]


def test_a_file_that_changed_in_between_is_fetched_whole(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    interrupted(server, target, transport, Resource(OTHER, etag='"old"'))
    server.add("/model", Resource(CONTENT, etag='"new"'))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT


def test_a_change_that_the_server_does_not_tell_costs_one_more_attempt(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    interrupted(server, target, transport, Resource(OTHER, etag=None))
    server.add("/model", Resource(CONTENT, etag=None))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT
    assert [a.headers.get("range") for a in server.asked] == [f"bytes={HALF}-", None]


def test_without_hash_and_version_nothing_is_continued(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    interrupted(server, target, transport, Resource(OTHER, etag=None))
    server.add("/model", Resource(CONTENT, etag=None))
    fetch(server, target, transport, UNPINNED)
    assert target.read_bytes() == CONTENT


def test_a_weak_version_is_not_trusted_with_a_range(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    interrupted(server, target, transport, Resource(CONTENT, etag='W/"one"'))
    fetch(server, target, transport)
    assert "if-range" not in server.asked[0].headers
    assert target.read_bytes() == CONTENT


def test_a_partial_file_of_another_address_is_not_mixed_in(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    interrupted(server, target, transport, Resource(OTHER))
    server.add("/mirror", Resource(CONTENT))
    fetch(server, target, transport, path="/mirror")
    assert target.read_bytes() == CONTENT
    assert "if-range" not in server.asked[0].headers


def test_another_part_than_asked_for_is_not_appended(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    interrupted(server, target, transport, Resource(CONTENT))
    server.add("/model", Resource(CONTENT, range_off_by=1))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT
    assert [a.headers.get("range") for a in server.asked] == [f"bytes={HALF}-", None]


def test_a_partial_file_that_is_whole_needs_no_network(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    target.parent.mkdir()
    partial_of(target).write_bytes(CONTENT)
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT
    assert server.asked == []


def test_a_partial_file_that_is_too_long_is_thrown_away(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    target.parent.mkdir()
    partial_of(target).write_bytes(CONTENT + b"more")
    server.add("/model", Resource(CONTENT))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT


def test_a_cut_connection_is_continued_after_a_pause(
    server: LocalServer, target: Path, transport: Transport, pauses: list[float]
) -> None:
    server.add("/model", Resource(CONTENT, cut_after=[CHUNK_BYTES, CHUNK_BYTES]))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT
    ranges = [a.headers.get("range") for a in server.asked]
    assert ranges == [None, f"bytes={CHUNK_BYTES}-", f"bytes={2 * CHUNK_BYTES}-"]
    assert pauses == [0.5, 0.5]  # each attempt got further than the one before


def test_attempts_that_get_no_further_pause_longer_and_end(
    server: LocalServer, target: Path, transport: Transport, pauses: list[float]
) -> None:
    server.add("/model", Resource(CONTENT, cut_after=[0] * 10))
    with pytest.raises(DownloadError, match="tried 3 times"):
        fetch(server, target, transport)
    assert pauses == [0.5, 1.0]
    assert not target.exists()


def test_a_busy_server_is_asked_again(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    server.add("/model", Resource(CONTENT, statuses=[503, 429]))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_not_argued_with(
    server: LocalServer, target: Path, transport: Transport, status: int
) -> None:
    server.add("/model", Resource(CONTENT, statuses=[status] * 5))
    with pytest.raises(DownloadError, match=str(status)):
        fetch(server, target, transport)
    assert len(server.asked) == 1
    assert not target.exists()


def test_redirects_are_followed(server: LocalServer, target: Path, transport: Transport) -> None:
    server.add("/model", Resource(location=f"{server.url}/moved"))
    server.add("/moved", Resource(CONTENT, cut_after=[HALF]))
    fetch(server, target, transport)
    assert target.read_bytes() == CONTENT


def test_a_circle_of_redirects_ends(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    server.add("/model", Resource(location=f"{server.url}/model"))
    with pytest.raises(DownloadError, match="redirects"):
        fetch(server, target, transport)


def test_wrong_bytes_never_get_the_name(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    server.add("/model", Resource(OTHER))
    with pytest.raises(ModelDamaged, match="pinned sha256"):
        fetch(server, target, transport)
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("chunked", [False, True])
def test_more_bytes_than_pinned_are_not_taken(
    server: LocalServer, target: Path, transport: Transport, chunked: bool
) -> None:
    server.add("/model", Resource(CONTENT + b"!", chunked=chunked))
    with pytest.raises(DownloadError, match="bytes"):
        fetch(server, target, transport)
    assert not target.exists()
    assert not partial_of(target).exists()


def test_fewer_bytes_than_pinned_are_not_even_begun(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    server.add("/model", Resource(CONTENT[:-1]))
    with pytest.raises(DownloadError, match="bytes"):
        fetch(server, target, transport)
    assert not partial_of(target).exists()


def test_an_archive_is_kept_as_it_was_sent(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    packed = gzip.compress(CONTENT)
    server.add("/model", Resource(packed, content_encoding="gzip"))
    fetch(server, target, transport, UNPINNED)
    assert target.read_bytes() == packed


def test_nobody_there_is_a_download_error(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    with LocalServer() as gone:
        url = gone.url
    with pytest.raises(DownloadError, match=r"^127\.0\.0\.1: .*refused; tried 3 times$"):
        download(f"{url}/model", target, PINNED, transport, Silent())


def test_a_server_that_falls_silent_is_given_up(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    server.add("/model", Resource(CONTENT, held_at=CHUNK_BYTES))
    hasty = Transport(transport.session, 0.05, 0, transport.pause)
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1"):
        fetch(server, target, hasty)
    assert not target.exists()


@pytest.fixture
def small_disk() -> Iterator[None]:
    """A limit on the size of a file, which writing meets as it meets a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (CHUNK_BYTES + 100, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_disk")
def test_a_full_disk_is_said_and_not_left_full(
    server: LocalServer, target: Path, transport: Transport
) -> None:
    server.add("/model", Resource(CONTENT))
    with pytest.raises(StorageError, match=r"model\.onnx"):
        fetch(server, target, transport)
    assert list(target.parent.iterdir()) == []


def test_a_folder_that_may_not_be_written_is_said(
    server: LocalServer, tmp_path: Path, transport: Transport
) -> None:
    (tmp_path / "files").write_text("a file where a folder should be")
    with pytest.raises(StorageError, match="files"):
        fetch(server, tmp_path / "files" / "model.onnx", transport)
