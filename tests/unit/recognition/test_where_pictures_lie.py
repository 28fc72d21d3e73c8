"""A detector draws into the memory of a back end that has some, or leaves the frame where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from tiny_pack import CELLS, SIZE, TinyPack

from edgefaced.camera.convert import planes_of
from edgefaced.errors import ModelError
from edgefaced.inference.canned import CannedBackend
from edgefaced.models.manifest import parse_manifest
from edgefaced.protocols import Tensor, TensorSpec
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.types import U8, DmaBuffer, Frame, PixelFormat, Role

FLOAT = np.dtype(np.float32)
SPEC = parse_manifest(TinyPack().manifest.encode(), "tiny").of_role(Role.DETECTOR)
WIDTHS = {"score": 1, "box": 4, "landmarks": 10}


class WithMemory(CannedBackend):
    """Has memory for the picture until it is closed, and keeps what lay there at each run."""

    def __init__(self, *, hidden: bool = False) -> None:
        outputs = [TensorSpec(name, (CELLS, width), FLOAT) for name, width in WIDTHS.items()]
        answer = [np.zeros(spec.shape, FLOAT) for spec in outputs]
        image = TensorSpec("image", (1, SIZE, SIZE, 3), np.dtype(np.uint8))
        super().__init__([image], outputs, [answer])
        self.memory = np.full((1, SIZE, SIZE, 3), 7, np.uint8)
        self.hidden = hidden
        self.given: list[Tensor] = []
        self.closed = False

    @property
    def picture(self) -> U8 | None:
        if self.closed:
            raise ModelError("the network is closed")
        return None if self.hidden else self.memory

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        self.given.append(feeds["image"])
        return super().run(feeds)


def frame(value: int) -> Frame:
    return Frame(0, 0, np.full((SIZE, SIZE, 3), value, np.uint8), PixelFormat.RGB)


def test_pictures_are_drawn_where_they_are_read() -> None:
    backend = WithMemory()
    detector = NetworkDetector(backend, SPEC, size=SIZE)
    assert detector.detect(frame(200)) == []
    assert backend.given[0] is backend.memory
    assert (backend.memory == 200).all()


def test_memory_that_is_not_shown_is_not_drawn_into() -> None:
    backend = WithMemory(hidden=True)
    NetworkDetector(backend, SPEC, size=SIZE).detect(frame(200))
    assert (backend.given[0] == 200).all()
    assert (backend.memory == 7).all()


def test_memory_that_was_given_back_is_not_drawn_into() -> None:
    backend = WithMemory()
    detector = NetworkDetector(backend, SPEC, size=SIZE)
    detector.detect(frame(200))
    backend.closed = True
    with pytest.raises(ModelError, match="closed"):
        detector.detect(frame(100))
    assert (backend.memory == 200).all()


class ReadsInPlace(WithMemory):
    """Reads a frame that lies in a DMA-BUF of 64-byte rows, until `refuses`."""

    def __init__(self) -> None:
        super().__init__()
        self.adopted: list[Frame] = []
        self.refuses = False

    def misfit(self, frame: Frame) -> str:
        buffer = frame.buffer
        fits = buffer is not None and buffer.stride == 3 * SIZE and frame.width == SIZE
        return "" if fits else "another layout"

    def adopt(self, frame: Frame) -> None:
        if self.refuses:
            raise ModelError("the NPU does not reach it")
        self.adopted.append(frame)

    def run_adopted(self) -> Sequence[Tensor]:
        return super().run({"image": self.adopted[-1].pixels[np.newaxis]})


def lent(order: PixelFormat = PixelFormat.RGB, stride: int = 3 * SIZE) -> Frame:
    pixels = np.full((SIZE, SIZE, 3), 9, np.uint8)
    return Frame(0, 0, pixels, order, (), DmaBuffer(3, stride * SIZE, 0, stride))


def test_a_frame_that_fits_is_read_where_the_camera_left_it() -> None:
    backend = ReadsInPlace()
    told: list[tuple[str, str]] = []
    detector = NetworkDetector(
        backend, SPEC, size=SIZE, placed=lambda memory, remark: told.append((memory, remark))
    )
    mine = lent()
    assert detector.detect(mine) == []
    assert detector.detect(mine) == []
    assert backend.adopted == [mine, mine]
    assert backend.given[0].base is mine.pixels
    assert (backend.memory == 7).all(), "nothing was drawn"
    assert detector.bytes_copied(mine) == 0
    assert told == [("camera buffer", "")]
    detector.detect(frame(200))
    assert (backend.memory == 200).all()
    assert told[1:] == [("NPU memory", "")]


@pytest.mark.parametrize("other", [lent(PixelFormat.BGR), lent(stride=4 * SIZE), frame(9)])
def test_a_frame_of_another_layout_or_colour_is_drawn(other: Frame) -> None:
    backend = ReadsInPlace()
    detector = NetworkDetector(backend, SPEC, size=SIZE)
    detector.detect(other)
    assert backend.adopted == []
    assert (backend.memory == 9).all()
    assert detector.bytes_copied(other) > 0


def test_a_buffer_that_the_npu_cannot_reach_is_tried_once_and_said() -> None:
    backend = ReadsInPlace()
    backend.refuses = True
    told: list[tuple[str, str]] = []
    detector = NetworkDetector(
        backend, SPEC, size=SIZE, placed=lambda memory, remark: told.append((memory, remark))
    )
    detector.detect(lent())
    backend.refuses = False
    detector.detect(lent())
    assert backend.adopted == []
    assert (backend.memory == 9).all()
    assert told == [("NPU memory", "the NPU does not reach it")]


@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_rows_of_an_npus_memory_may_be_padded(pixel_format: PixelFormat) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (2 * SIZE, 3 * SIZE, 3), dtype=np.uint8)
    planes = planes_of(picture, pixel_format)
    drawn = []
    for columns in (SIZE, SIZE + 8):
        rows = np.full((1, SIZE, columns, 3), 7, np.uint8)
        backend = WithMemory()
        backend.memory = rows[:, :, :SIZE]
        NetworkDetector(backend, SPEC, size=SIZE).detect(
            Frame(0, 0, planes.pixels, pixel_format, planes.chroma)
        )
        assert (rows[:, :, SIZE:] == 7).all()
        drawn.append(backend.memory)
    np.testing.assert_array_equal(drawn[0], drawn[1])
