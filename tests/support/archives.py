"""Archives as people pack them, and as nobody should."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Literal


def zipped(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(
    members: Mapping[str, bytes], mode: Literal["w:", "w:gz", "w:bz2", "w:xz"] = "w:gz"
) -> bytes:
    """The same bytes for the same members, whatever the time."""
    if mode == "w:gz":
        return gzip.compress(tarred(members, "w:"), mtime=0)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()
