"""Memory that the NPU reads and writes in place: its own, or somebody's DMA-BUF.

The NPU reads rows of `stride` pixels from addresses that are multiples of 64: both are checked, as
it would read beside the picture instead of refusing.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from edgefaced.errors import ModelError
from edgefaced.inference.librknnrt import (
    FROM_DEVICE,
    TO_DEVICE,
    RuntimeLibrary,
    TensorAttributes,
)
from edgefaced.types import F32, U8, DmaBuffer, Frame

if TYPE_CHECKING:
    from edgefaced.inference.librknnrt import MemoryPointer

ALIGNMENT_BYTES = 64
CHANNELS = 3


class TensorMemory:
    """One piece of memory of one context; given back once, before the context ends."""

    def __init__(self, library: RuntimeLibrary, context: int, memory: MemoryPointer) -> None:
        self._library = library
        self._context = context
        self._memory: MemoryPointer | None = memory

    @classmethod
    def allocated(cls, library: RuntimeLibrary, context: int, size: int) -> TensorMemory:
        """The NPU's own, which the CPU can write as well."""
        return cls(library, context, library.allocate(context, size))

    @classmethod
    def adopted(cls, library: RuntimeLibrary, context: int, frame: Frame) -> TensorMemory:
        """The DMA-BUF that a frame lies in, which is mapped where its pixels are."""
        buffer = frame.buffer
        if buffer is None:
            raise ModelError("this frame lies in no DMA-BUF")
        size, address = buffer.size_bytes - buffer.offset, frame.pixels.ctypes.data - buffer.offset
        memory = library.adopt(context, buffer.fd, address, size, buffer.offset)
        return cls(library, context, memory)

    def bind(self, tensor: TensorAttributes) -> None:
        """Makes it the memory of an input or an output."""
        self._library.bind(self._context, self._pointer(), tensor)

    def written(self) -> None:
        """To be called after the CPU wrote, before the NPU reads."""
        self._library.sync(self._context, self._pointer(), TO_DEVICE)

    def to_be_read(self) -> None:
        """To be called after the NPU wrote, before the CPU reads."""
        self._library.sync(self._context, self._pointer(), FROM_DEVICE)

    def bytes(self, size: int) -> U8:
        """The first `size` bytes as they lie there; not to be used after `release`."""
        address = self._pointer().contents.virt_addr
        if not address:
            raise ModelError("the NPU's memory is not mapped", "start edgefaced again")
        if address % ALIGNMENT_BYTES:
            raise ModelError(f"the NPU's memory begins at {address:#x}, no multiple of 64")
        place = (ctypes.c_uint8 * size).from_address(address)
        return np.ctypeslib.as_array(place)

    def floats(self, count: int) -> F32:
        return self.bytes(4 * count).view(np.float32)

    def release(self) -> None:
        """Gives it back; a second time does nothing."""
        memory, self._memory = self._memory, None
        if memory is not None:
            self._library.free(self._context, memory)

    def _pointer(self) -> MemoryPointer:
        if self._memory is None:
            raise ModelError("this memory was given back", "open the network again")
        return self._memory


def row_bytes(tensor: TensorAttributes) -> int:
    """From one row of a picture to the next; a stride of 0 says that rows follow each other."""
    return int(tensor.w_stride or tensor.dims[2]) * CHANNELS


def picture_bytes(tensor: TensorAttributes) -> int:
    """What an input picture takes, with its stride."""
    return max(int(tensor.size_with_stride), int(tensor.dims[1]) * row_bytes(tensor))


def misfit(buffer: DmaBuffer, tensor: TensorAttributes) -> str:
    """Why the NPU could not read a picture of three bytes a pixel from a buffer; "": it could."""
    stride, needed = row_bytes(tensor), picture_bytes(tensor)
    room = buffer.size_bytes - buffer.offset
    if buffer.offset < 0 or buffer.offset % ALIGNMENT_BYTES:
        return (
            f"the picture begins at byte {buffer.offset} of its DMA-BUF, the NPU reads from "
            f"multiples of {ALIGNMENT_BYTES}"
        )
    if buffer.stride != stride:
        return (
            f"the picture's rows are {buffer.stride} bytes apart, the network reads them "
            f"{stride} apart"
        )
    if room < needed:
        return f"the DMA-BUF has {room} bytes for a picture of {needed}"
    return ""
