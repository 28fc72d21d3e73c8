"""The networks that a command is about: those of a pack on this machine, or one ONNX file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgefaced.config.places import places_of_this_process
from edgefaced.errors import ModelContractError, UsageError
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import ModelSpec, PackManifest
from edgefaced.models.prepare.contract import sizes_of
from edgefaced.models.store import ModelStore
from edgefaced.types import Role

DETECTOR_SIZE_PX = 320


@dataclass(frozen=True, slots=True, eq=False)
class PackNetwork:
    """One network of a pack, its bytes as its maker published them, at one square size."""

    pack: str
    spec: ModelSpec
    original: bytes
    size: int


@dataclass(frozen=True, slots=True)
class OpenPack:
    """A pack and the models folder that holds it."""

    manifest: PackManifest
    store: ModelStore

    def network(self, role: Role, size: int) -> PackNetwork:
        """Raises ModelMissing, ModelDamaged; `size` is for a detector, others have their own."""
        spec = self.manifest.of_role(role)
        sizes = sizes_of(spec)
        if spec.decoder is None:
            size = sizes[0]
        elif size % max(spec.decoder.strides):
            step = max(spec.decoder.strides)
            raise ModelContractError(f"{spec.id} takes multiples of {step} pixels, not {size}")
        return PackNetwork(self.manifest.name, spec, self.store.original(spec), size)

    def networks(self, roles: tuple[Role, ...], size: int) -> list[PackNetwork]:
        return [self.network(role, size) for role in roles]


def open_pack(name: str) -> OpenPack:
    """Raises ModelMissing, ManifestError; nothing of its files is read yet."""
    store = ModelStore(places_of_this_process().models_dir)
    return OpenPack(find_pack(name, (store.layout.packs,)), store)


def read_file(path: Path) -> bytes:
    """Raises UsageError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "name a pack or an ONNX file") from error
