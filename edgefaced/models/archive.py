"""Reading one member after the other of a zip or tar file: streamed, bounded, nothing unpacked."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

from edgefaced.errors import ModelDamaged

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK_BYTES = 256 * 1024
LARGEST_HEADER_BYTES = 1 << 20
MOST_MEMBERS = 100_000
LARGEST_UNPACKED_BYTES = 8 << 30
XZ_MEMORY_BYTES = 256 << 20
UNREADABLE = (
    OSError,
    EOFError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,  # an encrypted member
    NotImplementedError,  # a compression that zipfile does not know
)
MAGIC = {b"PK": "zip", b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ": "xz"}


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A regular file of an archive; `chunks` may be read until the next member is asked for."""

    name: str
    size_bytes: int
    archive: Path
    _stream: IO[bytes]

    def chunks(self) -> Iterator[bytes]:
        """Its bytes. Raises ModelDamaged; a reader bounds them, the size is the archive's claim."""
        while True:
            with readable(self.archive):
                chunk = self._stream.read(CHUNK_BYTES)
            if not chunk:
                return
            yield chunk


def is_archive(path: Path) -> bool:
    """By its first bytes, whatever its name. Raises OSError."""
    return _kind(path) is not None


def members(path: Path) -> Iterator[ArchiveMember]:
    """Every regular file of an archive, in its order; links and devices are passed over.

    Raises ModelDamaged for what is not a readable archive.
    """
    with readable(path):
        kind = _kind(path)
    if kind is None:
        raise ModelDamaged(f"{path} is neither a zip nor a tar file")
    reader = _zip_members(path) if kind == "zip" else _tar_members(path, kind)
    while True:
        with readable(path):
            member = next(reader, None)
        if member is None:
            return
        yield member


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns all that a broken archive raises into ModelDamaged."""
    try:
        yield
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ModelDamaged(f"{path}: {reason}", "is it a whole zip or tar file?") from error


def _kind(path: Path) -> str | None:
    with path.open("rb") as file:
        head = file.read(512)
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    return "tar" if head[257:262] == b"ustar" else None


def _zip_members(path: Path) -> Iterator[ArchiveMember]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            mode = stat.S_IFMT(info.external_attr >> 16)
            if info.is_dir() or mode not in (0, stat.S_IFREG):
                continue
            with archive.open(info) as stream:
                yield ArchiveMember(info.filename, info.file_size, path, stream)


def _tar_members(path: Path, kind: str) -> Iterator[ArchiveMember]:
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        plain = stack.enter_context(_unpacked(file, kind))
        archive = stack.enter_context(tarfile.open(fileobj=_Forward(plain), mode="r:"))
        for count, info in enumerate(archive):
            if count > MOST_MEMBERS:
                raise tarfile.ReadError(f"it has more than {MOST_MEMBERS} members")
            stream = archive.extractfile(info) if info.isreg() and not info.issparse() else None
            if stream is not None:
                with stream:
                    yield ArchiveMember(info.name, info.size, path, stream)


def _unpacked(file: BinaryIO, kind: str) -> io.BufferedIOBase:
    match kind:
        case "gz":
            return gzip.GzipFile(fileobj=file)
        case "bz2":
            return bz2.BZ2File(file)
        case "xz":
            return io.BufferedReader(_Xz(file))
        case _:
            return io.BufferedReader(io.FileIO(file.fileno(), closefd=False))


class _Forward(io.RawIOBase):
    """A stream for tarfile that only moves on, and refuses what no honest archive asks for."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._file = file
        self._position = 0

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {size} bytes")
        data = self._file.read(size)
        self._position += len(data)
        if self._position > LARGEST_UNPACKED_BYTES:
            raise tarfile.ReadError(f"it unpacks to more than {LARGEST_UNPACKED_BYTES} bytes")
        return data

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        if position < self._position:
            raise tarfile.ReadError("its members are not in order")
        while self._position < position:
            if not self.read(min(CHUNK_BYTES, position - self._position)):
                raise tarfile.ReadError("it ends too soon")
        return self._position


class _Xz(io.RawIOBase):
    """lzma.LZMAFile with a bound on the memory that a file may ask for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = lzma.LZMADecompressor(memlimit=XZ_MEMORY_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        room = memoryview(buffer).cast("B")
        while not self._decoder.eof:
            data = self._file.read(CHUNK_BYTES) if self._decoder.needs_input else b""
            if self._decoder.needs_input and not data:
                raise EOFError("it ends too soon")
            unpacked = self._decoder.decompress(data, max_length=len(room))
            if unpacked:
                room[: len(unpacked)] = unpacked
                return len(unpacked)
        return 0
