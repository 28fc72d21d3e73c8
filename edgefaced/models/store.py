"""The models on this machine: bytes are handed out only after their hash was checked.

Nothing here touches a network: what is missing is an error that says how to get it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import ManifestError, ModelDamaged, ModelMissing, StorageError
from edgefaced.models.catalogue import manifest_files
from edgefaced.models.compiled_files import CompiledNetwork, compiled_network
from edgefaced.models.layout import Layout
from edgefaced.models.manifest import ModelSpec, PictureSpec, read_manifest
from edgefaced.models.reading import read_checked
from edgefaced.models.record import RECORD_FILE, FileRecord, PreparedRecord, parse_record
from edgefaced.models.runtime import Runtime, runtime_of_this_process


@dataclass(frozen=True, slots=True)
class LoadableModel:
    """A prepared network; `optimised` when its graph is already optimised for this machine."""

    data: bytes
    optimised: bool


@dataclass(frozen=True, slots=True)
class ModelStore:
    """Reads one models folder. `runtime` is that of this process unless given."""

    folder: Path
    runtime: Runtime | None = None

    @property
    def layout(self) -> Layout:
        return Layout(self.folder)

    def original(self, spec: ModelSpec) -> bytes:
        """The file as its maker published it. Raises ModelMissing, ModelDamaged."""
        path = self.layout.original(spec)
        try:
            return read_checked(path, spec.sha256, spec.size_bytes)
        except FileNotFoundError:
            raise ModelMissing(f"{spec.id} is not on this machine", self._way_out(spec)) from None
        except ModelDamaged as error:
            raise ModelDamaged(error.message, self._way_out(spec)) from error

    def prepared(self, spec: ModelSpec, size: int, *, portable: bool = False) -> LoadableModel:
        """The network for one input size. Raises ModelMissing, ModelDamaged.

        A file that another onnxruntime or another kind of machine optimised is passed over for
        the portable one, as is every optimised file where `portable`.
        """
        try:
            record = self.record(spec)
            try:
                return self._variant(spec, record, size, portable=portable)
            except FileNotFoundError:
                # Another process has just prepared it anew: its record names other files.
                return self._variant(spec, self.record(spec), size, portable=portable)
        except FileNotFoundError as error:
            raise ModelDamaged(f"{error.filename} is missing", self._way_out(spec)) from None
        except ModelDamaged as error:
            raise ModelDamaged(error.message, self._way_out(spec)) from error

    def record(self, spec: ModelSpec) -> PreparedRecord:
        """What was prepared from a file. Raises ModelMissing, ModelDamaged."""
        path = self.layout.prepared(spec) / RECORD_FILE
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            here = self.layout.original(spec).exists()
            what = "is here but not prepared" if here else "is not on this machine"
            raise ModelMissing(f"{spec.id} {what}", self._way_out(spec)) from None
        except OSError as error:
            raise ModelDamaged(f"{path}: {error.strerror or error}") from error
        return parse_record(data, str(path))

    def compiled(self, spec: ModelSpec, target: str, size: int) -> CompiledNetwork:
        """What was compiled from it for a target. Raises ModelMissing, ModelDamaged."""
        return compiled_network(self.layout, spec, target, size)

    def photograph(self, spec: PictureSpec) -> bytes | None:
        """A pack's photograph (an encoded picture), or None where it is not on this machine."""
        try:
            path = self.layout.photograph(spec)
            return read_checked(path, spec.sha256, spec.size_bytes)
        except FileNotFoundError:
            return None

    def _variant(
        self, spec: ModelSpec, record: PreparedRecord, size: int, *, portable: bool
    ) -> LoadableModel:
        for variant in record.variants:
            if variant.size == size:
                runtime = self.runtime or runtime_of_this_process()
                optimised = not portable and record.runs_optimised_on(runtime)
                chosen = variant.optimised if optimised else variant.portable
                return LoadableModel(self._file(spec, chosen), optimised)
        sizes = ", ".join(str(v.size) for v in record.variants)
        raise ModelMissing(
            f"{spec.id} is not prepared for {size}x{size}",
            f"there is: {sizes}; set detection.input_size_px to one of them",
        )

    def _file(self, spec: ModelSpec, file: FileRecord) -> bytes:
        return read_checked(self.layout.prepared(spec) / file.file, file.sha256, file.size_bytes)

    def _way_out(self, spec: ModelSpec) -> str:
        packs = []
        try:
            known = manifest_files((self.layout.packs,))
        except StorageError:
            known = manifest_files()
        for name, path in known.items():
            try:
                if any(m.sha256 == spec.sha256 for m in read_manifest(path).model):
                    packs.append(name)
            except ManifestError:
                continue  # that file is another command's complaint
        if len(packs) == 1:
            return f"`edgefaced models pull {packs[0]}`"
        return f"`edgefaced models pull NAME`, NAME one of {', '.join(packs)}" if packs else ""
