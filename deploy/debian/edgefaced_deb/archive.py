"""A .deb as bytes that depend on its contents alone.

`dpkg-deb` would do as well, but for one thing: the compiled modules of several Pythons are nearly
the same, megabytes apart, and only a window of 128 MiB sees it. That halves the package.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

WINDOW = "--long=27"
"""The largest window that a reader takes unasked."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, or a symbolic link where `link` is given; the path begins at the root of a system."""

    path: PurePosixPath
    data: bytes = b""
    mode: int = 0o644
    link: str | None = None


def write_deb(
    path: Path, control: Iterable[Entry], data: Iterable[Entry], epoch: int, *, level: int
) -> None:
    """Writes the package of dpkg's part and of what is unpacked, whole or not at all."""
    draft = path.with_name(f".{path.name}.new")
    members = (
        ("debian-binary", b"2.0\n"),
        ("control.tar.zst", compressed(control, epoch, level)),
        ("data.tar.zst", compressed(data, epoch, level)),
    )
    with draft.open("wb") as file:
        file.write(b"!<arch>\n")
        for name, body in members:
            file.write(f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(body):<10}`\n".encode())
            file.write(body + b"\n" * (len(body) % 2))
    draft.replace(path)


def compressed(entries: Iterable[Entry], epoch: int, level: int) -> bytes:
    """A tar by zstd, which a board unpacks several times as fast as xz."""
    command = ["zstd", "--quiet", "--stdout", "-T1", f"-{level}", WINDOW]
    with tempfile.TemporaryFile() as packed:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=packed) as zstd:
            assert zstd.stdin is not None  # noqa: S101 - it was asked for
            tar(entries, epoch, zstd.stdin)
            zstd.stdin.close()
        if zstd.returncode:
            raise subprocess.CalledProcessError(zstd.returncode, command)
        packed.seek(0)
        return packed.read()


def tar(entries: Iterable[Entry], epoch: int, sink: IO[bytes]) -> None:
    """Writes a tar of root's files, sorted, with their folders."""
    with tarfile.open(fileobj=sink, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        made: set[PurePosixPath] = set()
        for entry in sorted(entries, key=lambda entry: entry.path.parts):
            for folder in reversed(entry.path.parents):
                if folder not in made:
                    made.add(folder)
                    archive.addfile(_header(folder, 0o755, epoch, tarfile.DIRTYPE))
            if entry.link is not None:
                header = _header(entry.path, 0o777, epoch, tarfile.SYMTYPE)
                header.linkname = entry.link
                archive.addfile(header)
            else:
                header = _header(entry.path, entry.mode, epoch, tarfile.REGTYPE)
                header.size = len(entry.data)
                archive.addfile(header, io.BytesIO(entry.data))


def _header(path: PurePosixPath, mode: int, epoch: int, kind: bytes) -> tarfile.TarInfo:
    name = "./" if path == PurePosixPath(".") else f"./{path}"
    header = tarfile.TarInfo(name + "/" if kind == tarfile.DIRTYPE and name != "./" else name)
    header.type, header.mode, header.mtime = kind, mode, epoch
    header.uname = header.gname = "root"
    return header
