"""What this machine has that can be chosen from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgefaced.camera.found import FoundCamera, found_cameras
from edgefaced.errors import DependencyMissing
from edgefaced.gpio.found import FoundChip, found_chips
from edgefaced.inference.rockchip import find_npu
from edgefaced.models.catalogue import catalogue
from edgefaced.models.manifest import PackManifest
from edgefaced.models.state import PackState, pack_state
from edgefaced.models.store import ModelStore
from edgefaced.sensors.thermal import ZONES


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack with its terms, and whether it is ready here."""

    manifest: PackManifest
    ready: bool

    @property
    def name(self) -> str:
        return self.manifest.name


@dataclass(frozen=True, slots=True)
class Here:
    """This machine. `npu` names the chip whose NPU it has; `blind` is why its GPIO chips cannot be
    seen and `obstacle` why no service can be set up, empty where that is not so.
    """

    cameras: tuple[FoundCamera, ...] = ()
    chips: tuple[FoundChip, ...] = ()
    npu: str | None = None
    thermometer: bool = True
    packs: tuple[Pack, ...] = ()
    blind: str = ""
    obstacle: str = ""

    def pack(self, name: str) -> Pack | None:
        return next((pack for pack in self.packs if pack.name == name), None)


def look(models_dir: Path, obstacle: str) -> Here:
    """Opens devices for a moment and changes nothing. Raises ManifestError or StorageError."""
    npu, blind = find_npu(), ""
    chips: tuple[FoundChip, ...] = ()
    try:
        chips = found_chips()
    except DependencyMissing as error:
        blind = str(error)
    return Here(
        cameras=found_cameras(),
        chips=chips,
        npu=None if npu is None else npu.chip,
        thermometer=any(ZONES.glob("thermal_zone*")),
        packs=packs_of(ModelStore(models_dir)),
        blind=blind,
        obstacle=obstacle,
    )


def packs_of(store: ModelStore) -> tuple[Pack, ...]:
    """Those that are known, and which of them are ready."""
    known = catalogue((store.layout.packs,)).values()
    return tuple(Pack(m, pack_state(m, store) is PackState.INSTALLED) for m in known)
