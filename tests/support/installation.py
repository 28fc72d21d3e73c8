"""A store of the test's own and a way to install into it without any network."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tiny_pack import TinyPack

from edgefaced.models.catalogue import find_pack
from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.manifest import PackManifest
from edgefaced.models.prepare import prepare_model
from edgefaced.models.preparing import Workshop
from edgefaced.models.pull import Pulled, pull
from edgefaced.models.runtime import Runtime, runtime_of_this_process
from edgefaced.models.store import ModelStore


@dataclass
class Told:
    """A progress that remembers what it was told."""

    lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.lines.append(line)

    def advance(self, what: str, done: int, total: int | None) -> None:
        return None


@dataclass
class Installation:
    """Everything that installing needs, in one folder."""

    folder: Path
    runtime: Runtime = field(default_factory=runtime_of_this_process)
    told: Told = field(default_factory=Told)

    @property
    def store(self) -> ModelStore:
        return ModelStore(self.folder / "models", self.runtime)

    @property
    def workshop(self) -> Workshop:
        return Workshop(prepare_model, self.runtime, 1)

    @property
    def wheels(self) -> Path:
        return self.folder / "wheels"

    def know(self, tiny: TinyPack) -> PackManifest:
        """Makes a pack one of this machine's own, and its archive one that pip would find."""
        tiny.write_manifest(self.store.layout.packs)
        self.wheels.mkdir(exist_ok=True)
        (self.wheels / "tiny-1.0.tar.gz").write_bytes(tiny.sdist)
        return find_pack(tiny.name, (self.store.layout.packs,))

    def pip_config(self) -> PipConfig:
        return PipConfig(find_links=(str(self.wheels),), no_index=True)

    def pull(self, *packs: PackManifest) -> list[Pulled]:
        return pull(packs, self.store, self.workshop, self.pip_config, self.told)
