"""`compiled.toml`: networks compiled for one target, what they need, and how well they were proved.

A converter on a PC writes it beside its files; a device imports both. A compiled network takes
and gives what the prepared one does: one uint8 tensor `image` (1, height, width, 3) with the
normalisation inside, and the manifest's outputs, as float32 and by name.
"""

from __future__ import annotations

import tomllib
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from edgefaced.errors import ManifestError
from edgefaced.models.manifest import Bytes, FileName, Name, Sha256, Strict, first_fault

COMPILED_FILE = "compiled.toml"

Share = Annotated[float, Field(ge=0, le=1)]


class TensorRecord(Strict):
    """One output as the compiled file orders it. `scale` and `zero_point` where it is quantised."""

    name: str
    shape: tuple[int, ...]
    dtype: Literal["float32", "float16", "int8"]
    scale: float | None = None
    zero_point: int | None = None


class NeedsRecord(Strict):
    """Versions that a device must have, at least; "" where there is no such thing."""

    toolkit: str
    """The one that compiled it; for the record."""
    runtime: str = ""
    driver: str = ""


class GoldenRecord(Strict):
    """One input and the outputs that this very file gave for it, in an .npz beside the record.

    `image` (1, height, width, 3) uint8 and one float32 array for each output. A device runs it at
    every start and refuses to serve below `lowest_cosine` of any output.
    """

    file: FileName
    size_bytes: Bytes
    sha256: Sha256
    lowest_cosine: Share


class ProofFigures(Strict):
    """Compiled against float32 on pictures that were not calibrated with; absent: not measured."""

    pictures: Annotated[int, Field(ge=0)]
    mean_cosine: float | None = None
    first_percentile_cosine: float | None = None
    lfw_pairs: int | None = None
    lfw_accuracy: Share | None = None
    lfw_accuracy_float: Share | None = None
    recall: Share | None = None
    recall_float: Share | None = None
    landmark_error: float | None = None
    """Mean distance over the face's width."""


class CostRecord(Strict):
    """What the network costs in int8, counted from its graph; no measurement.

    `moved_bytes` with every feature map read and written once; `least_ms` on one core of a board by
    its name: each layer's arithmetic or its memory, a bound that nothing beats.
    """

    macs: Annotated[int, Field(ge=0)]
    moved_bytes: Annotated[int, Field(ge=0)]
    least_ms: dict[str, Annotated[float, Field(ge=0)]]


class CompiledModel(Strict):
    """One compiled file: which network of which size, for which target, from which original."""

    id: Name
    original_sha256: Sha256
    target: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
    """"rk3588", "rk3576", "rk3566" for .rknn files; "cpu" for quantised ONNX."""
    kind: Literal["rknn", "onnx"]
    precision: Literal["int8", "fp16", "mixed"]
    width: Annotated[int, Field(ge=32, le=2048)]
    height: Annotated[int, Field(ge=32, le=2048)]
    file: FileName
    size_bytes: Bytes
    sha256: Sha256
    outputs: tuple[TensorRecord, ...]
    needs: NeedsRecord
    golden: GoldenRecord
    proof: ProofFigures
    cost: CostRecord | None = None

    @property
    def size(self) -> int:
        """The larger side, by which a detector's input is chosen."""
        return max(self.width, self.height)


class CompiledRecord(Strict):
    """All of one conversion."""

    compiled: Literal[1]
    pack: Name
    model: tuple[CompiledModel, ...]

    @model_validator(mode="after")
    def _each_once(self) -> CompiledRecord:
        keys = [(m.id, m.target, m.width, m.height, m.precision) for m in self.model]
        if len(set(keys)) != len(keys):
            raise ValueError("a network is compiled once for a target, a size and a precision")
        return self


def parse_compiled(data: bytes, source: str) -> CompiledRecord:
    """Raises ManifestError with the source, the key path and what is allowed."""
    try:
        return CompiledRecord.model_validate(tomllib.loads(data.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(
            f"{source}: {error}", "a record of compiled networks is TOML"
        ) from error
    except ValidationError as error:
        raise ManifestError(f"{source}: {first_fault(error)}", "see models/README.md") from error
