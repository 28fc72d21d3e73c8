"""What a converter writes, for the tiny pack: a `compiled.toml`, the files and their goldens."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tiny_pack import CELLS, DIMENSION, SIZE, TinyPack, digest

from edgefaced.models.golden import IMAGE

Arrays = Mapping[str, NDArray[Any]]


def golden_file(arrays: Arrays) -> bytes:
    file = io.BytesIO()
    named: dict[str, Any] = dict(arrays)
    np.savez(file, **named)
    return file.getvalue()


def picture(side: int, seed: int = 5, height: int | None = None) -> NDArray[np.uint8]:
    """A square one without a `height`."""
    shape = (1, height or side, side, 3)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@dataclass(frozen=True)
class Compiled:
    """One compiled network of the tiny pack; its bytes mean nothing to anybody but a fake."""

    network: str
    """"detector" or "embedder"."""
    original: bytes
    data: bytes
    outputs: Arrays
    """What the file gives for `image`."""
    image: NDArray[np.uint8]
    target: str = "rk3588"
    kind: str = "rknn"
    precision: str = "int8"
    runtime: str = "2.3.0"
    driver: str = ""
    lowest_cosine: float = 0.99
    golden: bytes = b""

    @property
    def side(self) -> int:
        """The larger one, the width."""
        return int(self.image.shape[2])

    @property
    def golden_bytes(self) -> bytes:
        return self.golden or golden_file({IMAGE: self.image, **self.outputs})

    @property
    def names(self) -> tuple[str, str]:
        stem = f"{self.network}-{self.target}-{self.side}"
        return f"{stem}.{self.kind}", f"{stem}.npz"

    @property
    def toml(self) -> str:
        outputs = ", ".join(
            f'{{ name = "{name}", shape = {list(value.shape)}, dtype = "float32" }}'
            for name, value in self.outputs.items()
        )
        file, golden = self.names
        return f"""
[[model]]
id = "tiny-{self.network}"
original_sha256 = "{digest(self.original)}"
target = "{self.target}"
kind = "{self.kind}"
precision = "{self.precision}"
width = {self.side}
height = {self.image.shape[1]}
file = "{file}"
size_bytes = {len(self.data)}
sha256 = "{digest(self.data)}"
outputs = [{outputs}]
needs = {{ toolkit = "2.3.2", runtime = "{self.runtime}", driver = "{self.driver}" }}
proof = {{ pictures = 12, mean_cosine = 0.998, recall = 0.97 }}
[model.golden]
file = "{golden}"
size_bytes = {len(self.golden_bytes)}
sha256 = "{digest(self.golden_bytes)}"
lowest_cosine = {self.lowest_cosine}
"""

    @property
    def files(self) -> dict[str, bytes]:
        return dict(zip(self.names, (self.data, self.golden_bytes), strict=True))


def compiled_detector(
    tiny: TinyPack, side: int = SIZE, height: int | None = None, **more: Any
) -> Compiled:
    random = np.random.default_rng(side)
    cells = CELLS * (side // SIZE) * ((height or side) // (SIZE // 2)) // 2
    outputs = {
        name: random.random((cells, width), dtype=np.float32)
        for name, width in (("score", 1), ("box", 4), ("landmarks", 10))
    }
    data = more.pop("data", b"a detector of %d pixels" % side)
    image = picture(side, height=height)
    return Compiled("detector", tiny.detector, data, outputs, image, **more)


def compiled_embedder(tiny: TinyPack, **more: Any) -> Compiled:
    vector = np.random.default_rng(7).normal(size=(1, DIMENSION)).astype(np.float32)
    data = more.pop("data", b"an embedder")
    return Compiled("embedder", tiny.embedder, data, {"vector": vector}, picture(112), **more)


@dataclass(frozen=True)
class Conversion:
    """All that a converter gives out at once."""

    networks: tuple[Compiled, ...]
    pack: str = "tiny"
    more: dict[str, bytes] = field(default_factory=dict)

    @property
    def record(self) -> str:
        return f'compiled = 1\npack = "{self.pack}"\n' + "".join(n.toml for n in self.networks)

    @property
    def files(self) -> dict[str, bytes]:
        files = {"compiled.toml": self.record.encode()}
        for network in self.networks:
            files |= network.files
        return files | self.more

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            (folder / name).write_bytes(data)
        return folder
