"""Networks on a Rockchip NPU, by librknnrt itself, with the tensors in the NPU's own memory.

Two copies fewer a run than by rknn-toolkit-lite2, no garbage of its, and a frame in a DMA-BUF is
read where the camera left it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import numpy as np

from edgefaced.errors import ModelError
from edgefaced.inference.feeds import check_feeds
from edgefaced.inference.librknnrt import (
    FLOAT32,
    NHWC,
    QUERY_COUNTS,
    QUERY_INPUT,
    QUERY_OUTPUT,
    QUERY_VERSIONS,
    UINT8,
    Counts,
    RuntimeLibrary,
    TensorAttributes,
    Versions,
)
from edgefaced.inference.rknn import check_thread
from edgefaced.inference.rknn_faults import CONVERT, check_chip, check_versions
from edgefaced.inference.rknn_memory import (
    CHANNELS,
    TensorMemory,
    misfit,
    picture_bytes,
    row_bytes,
)
from edgefaced.inference.rockchip import Npu
from edgefaced.inference.source import CompiledSource
from edgefaced.protocols import Tensor, TensorSpec
from edgefaced.types import U8, Frame


class DirectRknnBackend:
    """One network in a context of its own. Used and closed by the thread that opened it.

    Raises ModelError for what cannot be loaded.
    """

    def __init__(self, source: CompiledSource, npu: Npu, *, core_mask: int, priority: int) -> None:
        check_chip(source, npu)
        check_versions(source.needs, npu.runtime, npu.driver)
        if npu.library is None:
            raise ModelError(
                "there is no librknnrt.so", "install Rockchip's runtime library in /usr/lib"
            )
        self._inputs, self._outputs = source.inputs, source.outputs
        self._id = source.id
        self._thread = threading.get_ident()
        self._adopted: TensorMemory | None = None
        with ExitStack() as opened:
            library = RuntimeLibrary(npu.library)
            context = library.begin(source.data, priority)
            opened.callback(library.end, context)
            _check_loaded(library, context, source)
            if npu.cores > 1:
                library.choose_cores(context, core_mask)
            self._tensor = _input_of(library, context, source)
            self._memory = TensorMemory.allocated(library, context, picture_bytes(self._tensor))
            opened.callback(self._memory.release)
            self._memory.bind(self._tensor)
            self._pixels = _rows(self._memory, self._tensor)
            self._results: list[TensorMemory] = []
            for index, spec in enumerate(self._outputs):
                tensor = _output_of(library, context, index, spec, source)
                result = TensorMemory.allocated(library, context, tensor.size)
                opened.callback(result.release)
                result.bind(tensor)
                self._results.append(result)
            self._library, self._context = library, context
            self._opened: ExitStack | None = opened.pop_all()

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    @property
    def picture(self) -> U8:
        """The NPU's memory for the input, (1, height, width, 3), to draw into until `close`; its
        rows may be padded.
        """
        self._check_open()
        return self._pixels[np.newaxis]

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        """Writes the picture into the NPU's memory; the outputs are the caller's own.

        What was drawn into `picture` lies there already.
        """
        self._check_open()
        check_feeds(self._inputs, feeds)
        self._let_go()
        image = feeds[self._inputs[0].name][0]
        if image.ctypes.data != self._pixels.ctypes.data:
            self._pixels[...] = image
        self._memory.written()
        return self._answer()

    def misfit(self, frame: Frame) -> str:
        """Why a frame of three bytes a pixel cannot be read where it lies; "" where it can."""
        self._check_open()
        height, width, _ = self._pixels.shape
        if frame.buffer is None:
            return "the frame lies in no DMA-BUF"
        if (frame.width, frame.height) != (width, height):
            return f"the frame is {frame.width}x{frame.height}, the network takes {width}x{height}"
        return misfit(frame.buffer, self._tensor)

    def adopt(self, frame: Frame) -> None:
        """Makes the DMA-BUF of a frame the input of `run_adopted`.

        Raises ModelError where it does not fit, or the NPU cannot reach it.
        """
        self._check_open()
        self._let_go()
        if fault := self.misfit(frame):
            raise ModelError(fault)
        adopted = TensorMemory.adopted(self._library, self._context, frame)
        try:
            adopted.bind(self._tensor)
        except ModelError:
            adopted.release()
            raise
        self._adopted = adopted

    def run_adopted(self) -> Sequence[Tensor]:
        """Runs on the frame that was adopted, and lets go of it; the outputs are the caller's own.

        The CPU has written nothing: what the camera's driver wrote is in order once the NPU's has
        mapped the buffer, which `adopt` does for every frame. A mapping that is kept would serve
        another camera's frame under the same descriptor.
        """
        self._check_open()
        if self._adopted is None:
            raise ModelError(f"{self._id}: no frame was adopted")
        try:
            return self._answer()
        finally:
            self._let_go()

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            with opened:
                # The views go first: nothing may point at memory that was given back.
                del self._pixels
                adopted, self._adopted = self._adopted, None
                if adopted is not None:
                    adopted.release()

    def _answer(self) -> list[Tensor]:
        self._library.run(self._context)
        answer: list[Tensor] = []
        for spec, result in zip(self._outputs, self._results, strict=True):
            result.to_be_read()
            values = result.floats(int(np.prod(spec.shape)))
            answer.append(values.copy().reshape(spec.shape))
        return answer

    def _let_go(self) -> None:
        """Back from a DMA-BUF to the NPU's own memory."""
        adopted, self._adopted = self._adopted, None
        if adopted is not None:
            try:
                self._memory.bind(self._tensor)
            finally:
                adopted.release()

    def _check_open(self) -> None:
        if self._opened is None:
            raise ModelError("the network is closed", "open it again")
        check_thread(self._thread, self._id)


def _check_loaded(library: RuntimeLibrary, context: int, source: CompiledSource) -> None:
    versions = library.ask(context, QUERY_VERSIONS, Versions())
    check_versions(source.needs, _text(versions.api), _text(versions.driver))
    counts = library.ask(context, QUERY_COUNTS, Counts())
    wanted = (1, len(source.outputs))
    if (counts.inputs, counts.outputs) != wanted:
        raise ModelError(
            f"{source.id} has {counts.inputs} inputs and {counts.outputs} outputs, its record says "
            f"{wanted[0]} and {wanted[1]}",
            CONVERT,
        )


def _input_of(library: RuntimeLibrary, context: int, source: CompiledSource) -> TensorAttributes:
    """The picture: bytes, channels last, whatever the network has inside."""
    tensor = library.ask(context, QUERY_INPUT, TensorAttributes(index=0))
    dims = list(tensor.dims[: tensor.n_dims])
    if tensor.fmt != NHWC or dims != [1, source.height, source.width, CHANNELS]:
        raise ModelError(
            f"{source.id} takes {dims} in layout {tensor.fmt}, its record says "
            f"{[1, source.height, source.width, CHANNELS]} with channels last",
            CONVERT,
        )
    tensor.type, tensor.pass_through = UINT8, 0
    return tensor


def _output_of(
    library: RuntimeLibrary, context: int, index: int, spec: TensorSpec, source: CompiledSource
) -> TensorAttributes:
    """Float32, whatever the network has inside."""
    tensor = library.ask(context, QUERY_OUTPUT, TensorAttributes(index=index))
    values = int(np.prod(spec.shape))
    if tensor.n_elems != values:
        raise ModelError(
            f"{source.id}: output {spec.name!r} has {tensor.n_elems} values, its record says "
            f"{list(spec.shape)}",
            CONVERT,
        )
    tensor.type, tensor.pass_through, tensor.size = FLOAT32, 0, 4 * values
    return tensor


def _rows(memory: TensorMemory, tensor: TensorAttributes) -> U8:
    """The picture in the NPU's memory, (height, width, 3); what fills up its rows is left out."""
    height, width, stride = int(tensor.dims[1]), int(tensor.dims[2]), row_bytes(tensor)
    rows = memory.bytes(height * stride).reshape(height, stride)
    return rows[:, : width * CHANNELS].reshape(height, width, CHANNELS)


def _text(field: bytes) -> str:
    return field.decode("utf-8", "replace")
