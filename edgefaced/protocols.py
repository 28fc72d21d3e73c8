"""The seams: a Protocol only where two implementations exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgefaced.events import Event
from edgefaced.types import (
    AlignedFace,
    ColourOrder,
    Embedding,
    FaceDetection,
    Frame,
    Match,
    PixelFormat,
)

Tensor = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Name, shape and type of one input or output of a loaded network; a free size is -1."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class InferenceBackend(Protocol):
    """One loaded network; used and closed by the thread that opened it."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]: ...

    @property
    def outputs(self) -> tuple[TensorSpec, ...]: ...

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        """Outputs in the order of `outputs`; valid until the next `run`. Raises ModelError."""
        ...

    def close(self) -> None:
        """Releases the network; closing twice is allowed, running afterwards is an error."""
        ...


class Detector(Protocol):
    """Finds faces in a frame."""

    def detect(self, frame: Frame) -> list[FaceDetection]:
        """Faces in frame coordinates, highest score first."""
        ...

    def bytes_copied(self, frame: Frame) -> int:
        """Bytes written between the frame's memory and the network's input for one `detect`.

        Scratch that stays in a processor's cache does not count.
        """
        ...


class Embedder(Protocol):
    """Turns aligned faces into embeddings of one model."""

    @property
    def model_id(self) -> str: ...

    @property
    def colour_order(self) -> ColourOrder:
        """The order it takes without converting."""
        ...

    def embed(self, face: AlignedFace) -> Embedding:
        """Raises EmbeddingError where the network's answer is not a direction."""
        ...


class GalleryIndex(Protocol):
    """Searches the templates of one model; the templates of a person count as one candidate."""

    @property
    def size(self) -> int:
        """Number of templates."""
        ...

    def search(self, probe: Embedding) -> Match | None:
        """Best person and runner-up, or None for an empty gallery. Raises ModelMismatch."""
        ...


class LiveGalleryIndex(GalleryIndex, Protocol):
    """An index that follows what other processes do to the gallery."""

    def refresh(self) -> bool:
        """Takes over what was committed since; True where anything changed.

        Raises GalleryBusy, GalleryDamaged or ModelMismatch.
        """
        ...


class Delivery(Enum):
    """How a sink gets its events.

    LASTING: from the ledger, in order, again after a failure and after a restart, until taken: at
    least once, a repetition has the same id. MOMENTARY: once, as soon as the ledger has it or could
    not take it (`recorded` is False then); never again, whatever happens.
    """

    LASTING = "lasting"
    MOMENTARY = "momentary"


class EventSink(Protocol):
    """Where events go; used and closed by the thread that delivers to it."""

    def emit(self, event: Event) -> None:
        """Takes one event. Raises OSError or EdgefacedError where it could not.

        The event then comes again where delivery is LASTING; the failure is counted and announced.
        """
        ...

    def close(self) -> None: ...


class Clerk(Protocol):
    """Answers recorded events with events of its own, which are recorded exactly once.

    The answer and how far the clerk has read are one transaction: after a crash it is asked again
    for what it had not answered, and for nothing else.
    """

    def answer(self, event: Event) -> Sequence[Event]:
        """The events that follow from this one. Raises OSError or EdgefacedError to be asked again.

        It may be asked twice for one event, when its answer could not be recorded.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """A sink that is to be opened, in the thread that will deliver to it."""

    open: Callable[[], EventSink]
    delivery: Delivery
    announces: bool = False
    """Whether it announces happenings of its own: it then gets its last event before all others."""
    patience_seconds: float = 2.0
    """How long a momentary sink waits for the ledger; a disk that hangs must not hang a door."""
    idle: Callable[[], None] = lambda: None
    """What a momentary sink does about twice a second while nothing happens; it does not fail."""


@dataclass(frozen=True, slots=True)
class ClerkPlan:
    """A clerk that is to be opened, in the thread that will ask it."""

    open: Callable[[], Clerk]


SinkPlans = Mapping[str, SinkPlan | ClerkPlan]
"""What events are delivered to, by name; the name is also that of its place in the ledger."""


class FrameLease(Protocol):
    """A frame on loan from a camera. Whoever takes it last releases it, exactly once.

    Leaving its `with` block releases it. Raises LeaseError for a second release and for reading
    a frame afterwards: by then the memory may hold another one.
    """

    @property
    def frame(self) -> Frame:
        """At full resolution, for cutting faces.

        What comes compressed is decoded when it is first read, here or as `small`: a frame that
        nobody looks at costs nothing, or a `glance`. Raises FrameDamaged where that fails, each
        time.
        """
        ...

    @property
    def small(self) -> Frame:
        """The same moment and field of view for detection; `frame` itself with one stream only."""
        ...

    @property
    def glance(self) -> Frame:
        """The same moment at any size, to see whether anything happens: `small` itself, or, of what
        comes compressed, an eighth, for a fifth to a half of the time. Raises FrameDamaged.
        """
        ...

    @property
    def copied_bytes(self) -> int:
        """Bytes the CPU wrote so far to make this frame: 0 where it is read in place."""
        ...

    def release(self) -> None: ...

    def __enter__(self) -> FrameLease: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class CameraWish:
    """What the configuration asks of a camera; None leaves the choice to it.

    `pixel_format` is the name of a PixelFormat or "MJPEG".
    """

    width: int | None = None
    height: int | None = None
    frames_per_second: float | None = None
    pixel_format: str | None = None

    def size(self) -> tuple[int, int]:
        """The wished size; a side that is open follows the other, 1280x720 where both are."""
        if self.width is not None:
            return self.width, self.height or self.width * 9 // 32 * 2
        if self.height is not None:
            return self.height * 16 // 18 * 2, self.height
        return 1280, 720


@dataclass(frozen=True, slots=True)
class CameraDescription:
    """What a camera really gives, and what was asked of it.

    `native` is the format on the wire ("MJPEG" is decoded to BGR frames); `frames_per_second` is
    None where the driver does not say; `dma` whether frames lie in a DMA-BUF.
    """

    name: str
    device: str
    width: int
    height: int
    pixel_format: PixelFormat
    native: str
    frames_per_second: float | None
    buffers: int
    dma: bool
    wish: CameraWish

    def differences(self) -> tuple[str, ...]:
        """What was asked and not given, in words for a log."""
        wish, found = self.wish, []
        if (wish.width or self.width, wish.height or self.height) != (self.width, self.height):
            asked = f"{wish.width or 'any'}x{wish.height or 'any'}"
            found.append(f"{asked} asked, {self.width}x{self.height} given")
        if wish.pixel_format not in (None, self.native):
            found.append(f"{wish.pixel_format} asked, {self.native} given")
        given = self.frames_per_second
        if wish.frames_per_second is not None:
            if given is None:
                found.append(f"{wish.frames_per_second:g} frames a second asked, none promised")
            elif abs(given - wish.frames_per_second) > 0.05 * wish.frames_per_second:
                found.append(f"{wish.frames_per_second:g} frames a second asked, {given:g} given")
        return tuple(found)


@dataclass(frozen=True, slots=True)
class CameraCounts:
    """Frames since the camera was opened; the counts only grow.

    `lent` were handed out; `missed` came while no buffer was free; `overtaken` were replaced by a
    newer one before anybody asked; `damaged` were marked by the driver, cut off or undecodable.
    """

    lent: int = 0
    missed: int = 0
    overtaken: int = 0
    damaged: int = 0


class Camera(Protocol):
    """An open camera. One thread calls `next` and `close`; any may release leases."""

    @property
    def description(self) -> CameraDescription: ...

    @property
    def counts(self) -> CameraCounts: ...

    def next(self, timeout: float) -> FrameLease | None:
        """The newest frame not handed out yet, or None where none comes within `timeout` seconds.

        None as well while every buffer is on loan. `frame.captured_ns` is the monotonic time at
        which the frame happened, `frame.sequence` grows and has gaps where frames were lost.
        Raises CameraLost for a camera that is gone, CameraEnded after the last frame of a replay
        (again at each further call), CameraError otherwise.
        """
        ...

    def settled(self, timeout: float) -> bool:
        """Whether every lease is back, now or within `timeout` seconds."""
        ...

    def close(self) -> None:
        """Gives the device back; closing twice is allowed.

        Leases still out are taken back, and reported as LeaseError once everything is closed;
        their frames stay readable memory, with whatever is in it.
        """
        ...

    def __enter__(self) -> Camera: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Closes; a lease still out is not reported over another error."""
        ...
