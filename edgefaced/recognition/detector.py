"""A detector: any InferenceBackend with a prepared network, and the decoder its manifest names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import cv2
import numpy as np

from edgefaced.core.bands import PACKED, Easel
from edgefaced.core.candidates import Candidates, RawRows, cells_of, faces_of, join, rows_above
from edgefaced.core.letterbox import Letterbox, fit, trimmed
from edgefaced.core.sampling import bytes_drawn, draw
from edgefaced.core.scrfd import decode_scrfd
from edgefaced.core.yunet import decode_yunet, scores_yunet
from edgefaced.errors import ModelContractError, ModelError
from edgefaced.inference.serving import CAMERA_BUFFER, NPU_MEMORY
from edgefaced.models.manifest import DecoderSpec, ModelSpec
from edgefaced.protocols import InferenceBackend, Tensor
from edgefaced.recognition.contract import FREE, IMAGE, check_contract
from edgefaced.types import U8, FaceDetection, Frame

SMALLEST_SPAN_PX = 1.0


def decode(
    tensors: dict[str, Tensor],
    spec: DecoderSpec,
    *,
    input_width: int,
    input_height: int,
    threshold: float,
) -> Candidates | None:
    """Candidates of all strides, in input pixels. Raises ValueError for tensors of other sizes."""
    parts: list[RawRows] = []
    for level, stride in enumerate(spec.strides):
        scores = tensors[spec.scores[level]]
        if spec.objectness is not None:
            scores = scores_yunet(scores, tensors[spec.objectness[level]])
        part = rows_above(
            threshold,
            scores,
            tensors[spec.boxes[level]],
            tensors[spec.landmarks[level]],
            cells_of(input_width, input_height, stride, spec.anchors),
        )
        if part is not None:
            parts.append(part)
    if not parts:
        return None
    rows = join(parts)
    return decode_scrfd(rows) if spec.objectness is None else decode_yunet(rows)


@runtime_checkable
class DrawnInto(Protocol):
    """A back end with memory of its own for the picture, where an NPU reads it."""

    @property
    def picture(self) -> U8 | None:
        """(1, height, width, 3), until it is closed; None where pictures are to be handed over."""
        ...


@runtime_checkable
class ReadsFrames(Protocol):
    """A back end that reads a frame of its input's size where the camera left it."""

    def misfit(self, frame: Frame) -> str:
        """Why it cannot, "" where it can; colours aside."""
        ...

    def adopt(self, frame: Frame) -> None:
        """Raises ModelError where it fails after all."""
        ...

    def run_adopted(self) -> Sequence[Tensor]: ...


class NetworkDetector:
    """Detects faces with one loaded network; the input buffer is allocated once and reused.

    A network of free size sees each frame without the padding that would make it a square: 40 %
    less to compute for a 16:9 frame.
    """

    def __init__(
        self,
        backend: InferenceBackend,
        spec: ModelSpec,
        *,
        size: int,
        score_threshold: float | None = None,
        placed: Callable[[str, str], None] = lambda memory, remark: None,
    ) -> None:
        """`size` is the larger side of the input, in pixels, where the network leaves it free.

        `placed` hears where pictures are read whenever that changes, and why there. Raises
        ModelContractError where the network is not what `spec` promises.
        """
        if spec.decoder is None:
            raise ModelContractError(f"{spec.id} has no decoder", "it is not a detector")
        _, height, width, _ = check_contract(backend, spec)
        self._free = FREE in (height, width)
        self.input_height, self.input_width = (size, size) if self._free else (height, width)
        self._step = max(spec.decoder.strides)
        if self._free and size % self._step:
            raise ModelContractError(
                f"{spec.id} takes multiples of {self._step} pixels, not {size}",
                "set detection.input_size_px",
            )
        self._backend = backend
        self._decoder = spec.decoder
        self._order = spec.input.colour_order
        self._threshold = (
            spec.decoder.score_threshold if score_threshold is None else score_threshold
        )
        self._names = [output.name for output in backend.outputs]
        self._place = backend if isinstance(backend, DrawnInto) else None
        self._reader = backend if isinstance(backend, ReadsFrames) else None
        self._adopted = False
        self._memory = NPU_MEMORY
        self._placed = placed
        # 64-byte aligned: whole cache lines for the SIMD resize, and what DMA engines ask for.
        self._buffer = _aligned_bytes(self.input_height * self.input_width * 3)
        self._input = self._buffer.reshape(1, self.input_height, self.input_width, 3)
        self._easel = Easel()
        self._model_id = spec.id

    def rehearse(self) -> None:
        """Runs the network once, on black, so that no person waits for what only a first run costs
        (half as much again as the next ones).

        Raises ModelError for one that cannot run.
        """
        self._backend.run({IMAGE: self._input})

    def detect(self, frame: Frame) -> list[FaceDetection]:
        """Faces in frame coordinates, highest score first."""
        box = self.feed(frame)
        return self.read(box, self.infer())

    def bytes_copied(self, frame: Frame) -> int:
        """Bytes written between the frame's memory and the network's input for one `detect`.

        Scratch aside: see `bytes_drawn`.
        """
        return 0 if self._reads(frame) else bytes_drawn(frame.pixel_format, self._fit(frame))

    def input_bytes(self, frame: Frame) -> int:
        """The size of the network's input for a frame."""
        box = self._fit(frame)
        return 3 * box.input_width * box.input_height

    def feed(self, frame: Frame) -> Letterbox:
        """Draws the frame into the network's input: the one pass over the frame's pixels.

        A frame that an NPU can read where it lies is left there.
        """
        box = self._fit(frame)
        if self._adopt(frame):
            return box
        if self._free:
            used = self._buffer[: box.input_height * box.input_width * 3]
            self._input = used.reshape(1, box.input_height, box.input_width, 3)
        if self._place is not None and (picture := self._place.picture) is not None:
            self._input = picture  # asked for each time: a closed back end has none
        draw(self._input[0], frame, box, self._order, self._easel)
        return box

    def infer(self) -> dict[str, Tensor]:
        """Runs the network on what was fed; tensors are valid until the next call."""
        if self._adopted and self._reader is not None:
            outputs = self._reader.run_adopted()
        else:
            outputs = self._backend.run({IMAGE: self._input})
        return dict(zip(self._names, outputs, strict=True))

    def read(self, box: Letterbox, tensors: dict[str, Tensor]) -> list[FaceDetection]:
        """Turns the network's tensors into faces of the frame that `box` describes.

        Raises ModelError for tensors that are no numbers: nobody would ever be found in them.
        """
        if not all(cv2.checkRange(tensors[name])[0] for name in self._decoder.scores):
            raise self._no_numbers("scores")
        try:
            candidates = decode(
                tensors,
                self._decoder,
                input_width=box.input_width,
                input_height=box.input_height,
                threshold=self._threshold,
            )
        except ValueError as error:
            raise ModelContractError(
                f"{self._model_id}: {error}", "the manifest's decoder does not fit this network"
            ) from error
        if candidates is None:
            return []
        if not cv2.checkRange(candidates.points)[0]:
            raise self._no_numbers("boxes")
        return [face for face in faces_of(candidates, box, self._decoder.nms_iou) if spans(face)]

    def _fit(self, frame: Frame) -> Letterbox:
        box = fit(frame.width, frame.height, self.input_width, self.input_height)
        return trimmed(box, self._step) if self._free else box

    def _reads(self, frame: Frame) -> bool:
        return (
            self._reader is not None
            and PACKED.get(frame.pixel_format) is self._order
            and not self._reader.misfit(frame)
        )

    def _adopt(self, frame: Frame) -> bool:
        """Whether the network's next input is the frame itself."""
        self._adopted = False
        remark = ""
        if self._reader is not None and self._reads(frame):
            try:
                self._reader.adopt(frame)
                self._adopted = True
            except ModelError as error:
                # It would refuse every frame of this camera: from here on they are drawn.
                self._reader, remark = None, str(error)
        memory = CAMERA_BUFFER if self._adopted else NPU_MEMORY
        if memory != self._memory or remark:
            self._memory = memory
            self._placed(memory, remark)
        return self._adopted

    def _no_numbers(self, what: str) -> ModelError:
        return ModelError(
            f"{self._model_id}: the network's {what} are no numbers",
            "`edgefaced models verify` checks the model's files",
        )


def spans(face: FaceDetection) -> bool:
    """Whether the landmarks are places of their own: a face without any has no upright picture."""
    return float(np.ptp(face.landmarks, axis=0).max()) >= SMALLEST_SPAN_PX


def _aligned_bytes(size: int) -> U8:
    """So many zeroed bytes, the first of which lies on a 64-byte boundary."""
    raw = np.zeros(size + 63, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]
