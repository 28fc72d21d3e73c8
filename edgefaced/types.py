"""The values that travel between rooms: frozen, slotted, explicit about colour order and model.

Coordinates are pixels of the frame, x to the right, y down; an integer coordinate is the centre
of a pixel, as in OpenCV's ``warpAffine``. Boxes are (left, top, right, bottom).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from edgefaced.errors import EmbeddingError

U8 = NDArray[np.uint8]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

FACE_SIDE_PX = 112
"""Side of an aligned face: the five-point template below is drawn in this square."""

UNIT_TOLERANCE = 1e-3


class ColourOrder(StrEnum):
    """Order of the three channels of a pixel in memory."""

    RGB = "RGB"
    BGR = "BGR"


class PixelFormat(StrEnum):
    """How a frame's bytes are laid out; see `Frame` for the shape of each."""

    RGB = "RGB"
    BGR = "BGR"
    NV12 = "NV12"
    I420 = "I420"
    YUYV = "YUYV"


class Role(StrEnum):
    """What a model of a pack is for."""

    DETECTOR = "detector"
    EMBEDDER = "embedder"
    LIVENESS = "liveness"


class Outcome(StrEnum):
    """What a decision says of one face."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    SPOOF = "spoof"
    TOO_POOR = "too-poor"


class Liveness(StrEnum):
    """Result of a presentation-attack check; "not checked" is never "passed"."""

    NOT_CHECKED = "not-checked"
    PASSED = "passed"
    FAILED = "failed"


class Direction(StrEnum):
    """Whether somebody came or went."""

    IN = "in"
    OUT = "out"


class CorrectionKind(StrEnum):
    """What a correction does to the records of attendance."""

    ADD = "add"
    VOID = "void"
    CHANGE = "change"


@dataclass(frozen=True, slots=True)
class DmaBuffer:
    """The DMA-BUF that a frame lies in: what a device reads it by, instead of a copy.

    The descriptor is the camera's, valid inside the lease. `size_bytes` is the whole buffer's,
    `offset` that of the first pixel, `stride` the bytes from one row to the next.
    """

    fd: int
    size_bytes: int
    offset: int
    stride: int


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture of a camera or a file; the pixels are borrowed and valid inside their lease.

    `captured_ns` is monotonic time. Rows may be padded (strided views), pixels may not:

    - RGB, BGR: `pixels` (height, width, 3), no `chroma`
    - YUYV: `pixels` (height, width, 2), luma first, chroma alternating U and V; no `chroma`
    - NV12: `pixels` luma (height, width), `chroma` one plane (height/2, width/2, 2) of U and V
    - I420: `pixels` luma (height, width), `chroma` two planes (height/2, width/2), U then V

    The YUV formats are BT.601 with limited range, as cameras give them. `buffer` is for frames
    that lie in one DMA-BUF as they are; a part or a copy of a frame has none. Raises ValueError for
    any other shape.
    """

    sequence: int
    captured_ns: int
    pixels: U8
    pixel_format: PixelFormat
    chroma: tuple[U8, ...] = ()
    buffer: DmaBuffer | None = None

    def __post_init__(self) -> None:
        height, width = self.pixels.shape[:2] if self.pixels.ndim >= 2 else (0, 0)
        half = (height // 2, width // 2)
        expected: dict[PixelFormat, tuple[tuple[int, ...], ...]] = {
            PixelFormat.RGB: ((height, width, 3),),
            PixelFormat.BGR: ((height, width, 3),),
            PixelFormat.YUYV: ((height, width, 2),),
            PixelFormat.NV12: ((height, width), (*half, 2)),
            PixelFormat.I420: ((height, width), half, half),
        }
        planes = (self.pixels, *self.chroma)
        shapes = tuple(plane.shape for plane in planes)
        subsampled = self.pixel_format not in (PixelFormat.RGB, PixelFormat.BGR)
        if (
            shapes != expected[self.pixel_format]
            or any(plane.dtype != np.uint8 for plane in planes)
            or min(height, width) < 1
            or (subsampled and width % 2)
            or (self.chroma and height % 2)
        ):
            raise ValueError(
                f"a frame of {self.pixel_format} is not made of {shapes} {self.pixels.dtype}"
            )

    @property
    def width(self) -> int:
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        return int(self.pixels.shape[0])


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in frame pixels; it may reach outside the frame."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def area(self) -> float:
        return max(self.width, 0.0) * max(self.height, 0.0)

    @property
    def centre(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True, eq=False)
class FaceDetection:
    """One face: box, detector score in 0..1 and five landmarks, all in frame pixels.

    `landmarks` is (5, 2) float32: the eye on the picture's left, the eye on its right, nose tip,
    mouth corner on the left, mouth corner on the right.
    """

    box: Box
    landmarks: F32
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class AlignedFace:
    """An own copy of a face warped to 112x112: `pixels` is (112, 112, 3) in `colour_order`."""

    pixels: U8
    colour_order: ColourOrder

    def __post_init__(self) -> None:
        if self.pixels.shape != (FACE_SIDE_PX, FACE_SIDE_PX, 3) or self.pixels.dtype != np.uint8:
            raise ValueError(
                f"an aligned face is (112, 112, 3) uint8, not {self.pixels.shape} "
                f"{self.pixels.dtype}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """A unit vector (d,) float32 and the id of the model that made it.

    Raises EmbeddingError when the vector is not finite, not one-dimensional or not of length one:
    a broken embedding cannot exist, so it cannot match.
    """

    vector: F32
    model_id: str

    def __post_init__(self) -> None:
        if self.vector.ndim != 1 or self.vector.dtype != np.float32:
            raise EmbeddingError(
                f"an embedding is one float32 vector, not {self.vector.shape} {self.vector.dtype}"
            )
        length = math.sqrt(self.vector @ self.vector)
        if not abs(length - 1.0) <= UNIT_TOLERANCE:  # also false for NaN
            raise EmbeddingError(f"an embedding has length 1, not {length:g}")

    @property
    def dimension(self) -> int:
        return int(self.vector.shape[0])


@dataclass(frozen=True, slots=True)
class Quality:
    """What one face picture offers a recogniser; every figure is measured, none is a verdict.

    `interocular_px` distance between the eyes in the frame; `sharpness` of the aligned face in the
    direction where it is least, whatever the exposure; `brightness` mean luma 0..255; `contrast`
    standard deviation of luma; `clipped` share of pixels at either end of the scale; `yaw`,
    `pitch` (-1..1, 0 frontal) and `roll_degrees` from the landmarks; `inside` share of the aligned
    face inside the frame; `symmetry` correlation of the face with its mirror image (low: covered or
    lit from one side).
    """

    interocular_px: float
    sharpness: float
    brightness: float
    contrast: float
    clipped: float
    yaw: float
    pitch: float
    roll_degrees: float
    inside: float
    symmetry: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A person and the score (cosine, -1..1) of that person's best template."""

    person_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Match:
    """The best person for a probe, and the best *other* person where the gallery has one."""

    best: Candidate
    runner_up: Candidate | None

    @property
    def margin(self) -> float:
        """Score of the best person minus the runner-up's; infinite with one person enrolled."""
        return float("inf") if self.runner_up is None else self.best.score - self.runner_up.score


@dataclass(frozen=True, slots=True)
class Decision:
    """What is said of one face. `person_id` is set for a known face only.

    `score` is the best candidate's score, absent where nothing was compared; `threshold` the one
    it was held against; `reason` one word or two for a person: "below threshold", "margin", a gate.
    """

    outcome: Outcome
    person_id: str | None
    score: float | None
    threshold: float
    liveness: Liveness
    reason: str
