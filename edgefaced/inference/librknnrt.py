"""The calls of librknnrt that run a network with its tensors in memory of our choice.

Structures, codes and call order by Rockchip's public header rknn_api.h and its zero-copy examples.
Every call's code is checked; pointers never leave this room.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from edgefaced.errors import ModelError
from edgefaced.inference.rknn_faults import NEW_RUNTIME, fault_of

MOST_DIMENSIONS = 16
NAME_BYTES = 256

QUERY_COUNTS = 0
QUERY_INPUT = 1
QUERY_OUTPUT = 2
QUERY_VERSIONS = 5

FLOAT32, UINT8 = 0, 3
NCHW, NHWC = 0, 1

PRIORITY_HIGH, PRIORITY_MEDIUM, PRIORITY_LOW = 0, 1, 2
"""Flags of a context: whose work the driver takes first."""

TO_DEVICE, FROM_DEVICE = 1, 2


class TensorAttributes(ctypes.Structure):
    """`rknn_tensor_attr`."""

    _fields_ = (
        ("index", ctypes.c_uint32),
        ("n_dims", ctypes.c_uint32),
        ("dims", ctypes.c_uint32 * MOST_DIMENSIONS),
        ("name", ctypes.c_char * NAME_BYTES),
        ("n_elems", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("fmt", ctypes.c_int),
        ("type", ctypes.c_int),
        ("qnt_type", ctypes.c_int),
        ("fl", ctypes.c_int8),
        ("zp", ctypes.c_int32),
        ("scale", ctypes.c_float),
        ("w_stride", ctypes.c_uint32),
        ("size_with_stride", ctypes.c_uint32),
        ("pass_through", ctypes.c_uint8),
        ("h_stride", ctypes.c_uint32),
    )


class TensorMemoryRecord(ctypes.Structure):
    """`rknn_tensor_mem`."""

    _fields_ = (
        ("virt_addr", ctypes.c_void_p),
        ("phys_addr", ctypes.c_uint64),
        ("fd", ctypes.c_int32),
        ("offset", ctypes.c_int32),
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("priv_data", ctypes.c_void_p),
    )


class Counts(ctypes.Structure):
    """`rknn_input_output_num`."""

    _fields_ = (("inputs", ctypes.c_uint32), ("outputs", ctypes.c_uint32))


class Versions(ctypes.Structure):
    """`rknn_sdk_version`."""

    _fields_ = (("api", ctypes.c_char * 256), ("driver", ctypes.c_char * 256))


Answer = TypeVar("Answer", bound=ctypes.Structure)

if TYPE_CHECKING:
    MemoryPointer = ctypes._Pointer[TensorMemoryRecord]  # no such thing at run time

_CONTEXT = ctypes.c_uint64
_MEMORY = ctypes.POINTER(TensorMemoryRecord)
_CALLS: dict[str, tuple[object, tuple[object, ...]]] = {
    "rknn_init": (
        ctypes.c_int,
        (
            ctypes.POINTER(_CONTEXT),
            ctypes.c_char_p,
            ctypes.c_uint32,
            ctypes.c_uint32,
            ctypes.c_void_p,
        ),
    ),
    "rknn_destroy": (ctypes.c_int, (_CONTEXT,)),
    "rknn_query": (ctypes.c_int, (_CONTEXT, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32)),
    "rknn_set_core_mask": (ctypes.c_int, (_CONTEXT, ctypes.c_int)),
    "rknn_create_mem": (_MEMORY, (_CONTEXT, ctypes.c_uint32)),
    "rknn_create_mem_from_fd": (
        _MEMORY,
        (_CONTEXT, ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int32),
    ),
    "rknn_destroy_mem": (ctypes.c_int, (_CONTEXT, _MEMORY)),
    "rknn_set_io_mem": (ctypes.c_int, (_CONTEXT, _MEMORY, ctypes.POINTER(TensorAttributes))),
    "rknn_mem_sync": (ctypes.c_int, (_CONTEXT, _MEMORY, ctypes.c_int)),
    "rknn_run": (ctypes.c_int, (_CONTEXT, ctypes.c_void_p)),
}


class RuntimeLibrary:
    """A loaded librknnrt. Raises ModelError where it cannot be loaded or lacks a call."""

    def __init__(self, path: Path) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise ModelError(f"{path} cannot be loaded: {error}", NEW_RUNTIME) from error
        for name, (result, arguments) in _CALLS.items():
            try:
                call = getattr(self._library, name)
            except AttributeError as error:
                raise ModelError(f"{path} has no {name}", NEW_RUNTIME) from error
            call.restype, call.argtypes = result, arguments

    def begin(self, model: bytes, priority: int) -> int:
        """A new context; to be ended."""
        context = _CONTEXT(0)
        self._check(
            self._library.rknn_init(ctypes.byref(context), model, len(model), priority, None),
            "loading the network",
        )
        return context.value

    def end(self, context: int) -> None:
        self._check(self._library.rknn_destroy(context), "unloading the network")

    def ask(self, context: int, command: int, answer: Answer) -> Answer:
        """Fills in a structure; that of a tensor bears the tensor's index."""
        size = ctypes.sizeof(answer)
        code = self._library.rknn_query(context, command, ctypes.byref(answer), size)
        self._check(code, "asking for the network's tensors")
        return answer

    def choose_cores(self, context: int, mask: int) -> None:
        code = self._library.rknn_set_core_mask(context, mask)
        self._check(code, f"choosing the NPU's cores ({mask:#x})")

    def allocate(self, context: int, size: int) -> MemoryPointer:
        memory: MemoryPointer = self._library.rknn_create_mem(context, size)
        if not memory:
            raise ModelError(
                f"the NPU has no {size} bytes of memory left",
                "it needs contiguous memory (CMA): stop what else uses it",
            )
        return memory

    def adopt(
        self, context: int, fd: int, address: int | None, size: int, offset: int
    ) -> MemoryPointer:
        """Memory that somebody else made, by its DMA-BUF; `address` is where it is mapped."""
        memory: MemoryPointer = self._library.rknn_create_mem_from_fd(
            context, fd, address, size, offset
        )
        if not memory:
            raise ModelError(
                f"the NPU does not take the DMA-BUF {fd} ({size} bytes from {offset})",
                "memory of a system without an IOMMU must be contiguous",
            )
        return memory

    def free(self, context: int, memory: MemoryPointer) -> None:
        self._check(self._library.rknn_destroy_mem(context, memory), "giving memory back")

    def bind(self, context: int, memory: MemoryPointer, tensor: TensorAttributes) -> None:
        code = self._library.rknn_set_io_mem(context, memory, ctypes.byref(tensor))
        self._check(code, f"binding memory to {tensor.name.decode('utf-8', 'replace')!r}")

    def sync(self, context: int, memory: MemoryPointer, direction: int) -> None:
        self._check(self._library.rknn_mem_sync(context, memory, direction), "syncing memory")

    def run(self, context: int) -> None:
        self._check(self._library.rknn_run(context, None), "running the network")

    def _check(self, code: int, what: str) -> None:
        if code != 0:
            raise fault_of(code, what)
