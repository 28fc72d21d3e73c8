"""What a conversion hands over: `compiled.toml` and its files in one tar.

The same networks, files and figures give the same bytes: no times and no owners are in it.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgefaced.gallery.export_file import write_export
from edgefaced.models.compiled import COMPILED_FILE, CompiledModel, CompiledRecord, parse_compiled


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
    text = to_toml(CompiledRecord(compiled=1, pack=pack, model=tuple(models)))
    parse_compiled(text.encode(), COMPILED_FILE)  # what we write, a device reads
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for member in (Member(COMPILED_FILE, text.encode()), *members):
            info = tarfile.TarInfo(member.name)
            info.size, info.mode = len(member.data), 0o644
            archive.addfile(info, io.BytesIO(member.data))
    write_export(path, buffer.getvalue(), overwrite=True)
    return len(buffer.getvalue())


def to_toml(record: CompiledRecord) -> str:
    """The record as TOML, without the keys that have no value."""
    lines = [f"compiled = {record.compiled}", f"pack = {_value(record.pack)}"]
    for model in record.model:
        table = model.model_dump(mode="json", exclude_none=True)
        lines += ["", "[[model]]"]
        lines += [f"{k} = {_value(v)}" for k, v in table.items() if not _is_table(v)]
        for key, value in table.items():
            if isinstance(value, dict):
                lines += ["", f"[model.{key}]", *(f"{k} = {_value(v)}" for k, v in value.items())]
        for output in table["outputs"]:
            lines += ["", "[[model.outputs]]", *(f"{k} = {_value(v)}" for k, v in output.items())]
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], dict))


def _value(value: Any) -> str:
    """Strings, numbers and lists of them are spelled alike in JSON and TOML."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
