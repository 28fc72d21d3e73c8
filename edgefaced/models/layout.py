"""Where things lie under the models folder: originals, photographs and prepared files by hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from edgefaced.models.manifest import ModelSpec, PictureSpec, Pinned


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths under one models folder; nothing is opened or made here.

    Files are addressed by the hash of their content, so packs share what they have in common.
    """

    folder: Path

    @property
    def packs(self) -> Path:
        """The person's own manifests."""
        return self.folder / "packs"

    @property
    def installed(self) -> Path:
        """One small file for each installed pack."""
        return self.folder / "installed"

    @property
    def downloads(self) -> Path:
        """Archives while a pull needs them, and what an interrupted one has left."""
        return self.folder / "downloads"

    @property
    def lock(self) -> Path:
        return self.folder / ".lock"

    def place(self, spec: Pinned) -> Path:
        """Of the file as it came."""
        return self.original(spec) if isinstance(spec, ModelSpec) else self.photograph(spec)

    def original(self, spec: ModelSpec) -> Path:
        return self.folder / "files" / spec.sha256 / spec.file

    def photograph(self, spec: PictureSpec) -> Path:
        return self.folder / "proof" / spec.sha256 / spec.file

    def prepared(self, spec: ModelSpec) -> Path:
        """Folder of what was prepared from this file for this contract."""
        return self.folder / "prepared" / spec.sha256 / recipe(spec)

    def compiled(self, original_sha256: str) -> Path:
        """Folder of what a converter made of this file, with a folder for each target."""
        return self.folder / "compiled" / original_sha256


def recipe(spec: ModelSpec) -> str:
    """Digest of all that decides how a file is prepared, besides the file itself."""
    parts = spec.model_dump(mode="json", include={"role", "input", "output", "decoder"})
    # Thresholds of a decoder are applied to the outputs, not built into the graph.
    if parts["decoder"] is not None:
        parts["decoder"] = {k: parts["decoder"][k] for k in ("kind", "strides", "anchors")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
