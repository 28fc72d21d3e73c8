"""What a conversion hands over: `compiled.toml` and its files in one tar.

The same networks, files and figures give the same bytes: no times and no owners are in it.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgefaced.gallery.export_file import write_export
from edgefaced.models.compiled import COMPILED_FILE, CompiledModel, CompiledRecord, parse_compiled
from edgefaced.models.compiled_text import compiled_toml


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One file of an archive."""

    name: str
    data: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def write_archive(
    path: Path, pack: str, models: Sequence[CompiledModel], members: Sequence[Member]
) -> int:
    """Writes the archive and gives its size. Raises Refused where it exists, StorageError."""
    text = compiled_toml(CompiledRecord(compiled=1, pack=pack, model=tuple(models)))
    parse_compiled(text.encode(), COMPILED_FILE)  # what we write, a device reads
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for member in (Member(COMPILED_FILE, text.encode()), *members):
            info = tarfile.TarInfo(member.name)
            info.size, info.mode = len(member.data), 0o644
            archive.addfile(info, io.BytesIO(member.data))
    write_export(path, buffer.getvalue(), overwrite=True)
    return len(buffer.getvalue())
