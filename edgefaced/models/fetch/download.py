"""One URL into one file: resumed where it was cut, bounded, and verified before it has its name."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edgefaced.errors import DownloadError, ModelDamaged, StorageError
from edgefaced.models.atomic import make_folder, partial_of, publish, storage_errors
from edgefaced.models.fetch.transport import PassingFault, Transport, shown, translated
from edgefaced.models.progress import Progress

if TYPE_CHECKING:
    import requests

CHUNK_BYTES = 256 * 1024
LARGEST_BYTES = 1 << 30
"""Bound of a file whose size nobody has pinned."""


@dataclass(frozen=True, slots=True)
class Pin:
    """What is known of a file beforehand."""

    sha256: str | None
    size_bytes: int | None


def download(url: str, target: Path, pin: Pin, transport: Transport, progress: Progress) -> None:
    """Fetches `url` into `target`; what an earlier attempt left beside it is continued.

    Raises DownloadError, ModelDamaged (wrong hash; nothing is left of it) and StorageError.
    """
    partial = partial_of(target)
    make_folder(target.parent)
    resumed = _size(partial) > 0
    if not (resumed and _is_pinned(partial, pin)):
        _fill(url, partial, pin, transport, progress)
        if resumed and pin.sha256 is not None and not _is_pinned(partial, pin):
            # What was there may be of another file: once more, from the first byte.
            _discard(partial)
            _fill(url, partial, pin, transport, progress)
    if pin.sha256 is not None and not _is_pinned(partial, pin):
        _discard(partial)
        raise ModelDamaged(
            f"{shown(url)} does not have the pinned sha256 ({pin.sha256[:12]}…)",
            "its content was changed or damaged on the way; nothing of it was used",
        )
    with storage_errors(target):
        _validator_of(partial).unlink(missing_ok=True)
        publish(partial, target)


def hash_file(path: Path) -> str:
    """SHA-256 of a file that may be large. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fill(url: str, partial: Path, pin: Pin, transport: Transport, progress: Progress) -> None:
    """Appends until the file is whole; an attempt that got further than all before it is free."""
    furthest, failures = _size(partial), 0
    while True:
        try:
            _attempt(url, partial, pin, transport, progress)
            return
        except PassingFault as fault:
            if _size(partial) > furthest:
                furthest, failures = _size(partial), 0
            failures += 1
            if failures > transport.retries:
                raise DownloadError(f"{fault}; tried {failures} times") from fault
            progress.say(f"{fault}; trying again")
            transport.back_off(failures)
        except StorageError:
            _discard(partial)  # a full disk is not left full
            raise


def _attempt(url: str, partial: Path, pin: Pin, transport: Transport, progress: Progress) -> None:
    offset = _size(partial)
    validator = _read_validator(partial, url)
    if offset and validator is None and pin.sha256 is None:
        offset = 0  # nothing would tell that it is of another file
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    if offset and validator:
        headers["If-Range"] = validator
    with (
        translated(url),
        transport.session.get(
            url, headers=headers, stream=True, timeout=transport.timeout_seconds
        ) as answer,
    ):
        if answer.status_code == 416:
            _discard(partial)
            raise PassingFault(f"{shown(url)}: the server has no byte {offset}")
        answer.raise_for_status()
        if answer.status_code != 206:
            offset = 0
        elif _first_byte(answer) != offset:
            _discard(partial)
            raise PassingFault(f"{shown(url)}: the server sent another part than asked for")
        total = _total(answer, offset)
        bound = pin.size_bytes or LARGEST_BYTES
        if total is not None and (total > bound or (pin.size_bytes and total != bound)):
            raise DownloadError(f"{shown(url)} has {total} bytes, not {bound}")
        _write_validator(partial, url, answer)
        name = partial.name.removesuffix(".partial")
        with storage_errors(partial):
            file = partial.open("r+b" if partial.exists() else "wb")
        with storage_errors(partial), file:
            file.truncate(offset)
            file.seek(offset)
            for chunk in _chunks(answer, url):
                offset += len(chunk)
                if offset > bound:
                    _discard(partial)
                    raise DownloadError(f"{shown(url)} has more than {bound} bytes")
                file.write(chunk)
                progress.advance(name, offset, total)
            file.flush()
            os.fsync(file.fileno())


def _chunks(answer: requests.Response, url: str) -> Iterator[bytes]:
    """The body as it is on the wire: an archive is never unpacked by the way."""
    stream = answer.raw.stream(CHUNK_BYTES, decode_content=False)
    while True:
        with translated(url):
            chunk = next(stream, None)
        if chunk is None:
            return
        yield chunk


def _first_byte(answer: requests.Response) -> int | None:
    match = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
    return int(match[1]) if match else None


def _total(answer: requests.Response, offset: int) -> int | None:
    length = answer.headers.get("Content-Length", "")
    return offset + int(length) if length.isdecimal() else None


def _is_pinned(path: Path, pin: Pin) -> bool:
    """Does the file have its hash? False where none is pinned."""
    with storage_errors(path):
        return pin.sha256 is not None and path.exists() and hash_file(path) == pin.sha256


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _discard(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    _validator_of(partial).unlink(missing_ok=True)


def _validator_of(partial: Path) -> Path:
    """Holds the URL that the partial file is of, and the server's word for its version."""
    return partial.with_name(partial.name + ".version")


def _read_validator(partial: Path, url: str) -> str | None:
    try:
        of, _, validator = _validator_of(partial).read_text().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return validator if of == shown(url) and validator else None


def _write_validator(partial: Path, url: str, answer: requests.Response) -> None:
    tag = answer.headers.get("ETag", "")
    # A weak tag does not promise equal bytes, and If-Range may not carry one.
    validator = answer.headers.get("Last-Modified", "") if tag.startswith("W/") or not tag else tag
    with storage_errors(partial):
        _validator_of(partial).write_text(f"{shown(url)}\n{validator}")
