"""The kernel's V4L2 structures, constants and call numbers, as <linux/videodev2.h> has them.

Field names are the kernel's. Only what capturing needs is here; sizes and offsets are compared
with the header in the tests.
"""

from __future__ import annotations

import ctypes
from ctypes import Structure, Union, c_char, c_int32, c_long, c_uint8, c_uint16, c_uint32, c_ulong

BUF_TYPE_CAPTURE, BUF_TYPE_CAPTURE_MPLANE = 1, 9
MEMORY_MMAP = 1
FIELD_NONE = 1
MAX_PLANES = 8

CAP_VIDEO_CAPTURE = 0x1
CAP_VIDEO_CAPTURE_MPLANE = 0x1000
CAP_STREAMING = 0x4000000
CAP_DEVICE_CAPS = 0x80000000
"""`device_caps` holds what this node can do; without it `capabilities` does."""
CAP_TIMEPERFRAME = 0x1000

BUF_FLAG_ERROR = 0x40
BUF_FLAG_TIMESTAMP_MASK = 0xE000
BUF_FLAG_TIMESTAMP_MONOTONIC = 0x2000

FRAME_TYPE_DISCRETE = 1
"""Sizes and intervals come one by one; otherwise one range, in steps or continuous."""

EVENT_SOURCE_CHANGE, SOURCE_CHANGE_RESOLUTION = 5, 0x1

PIX_FMT_PRIV_MAGIC = 0xFEEDCAFE
PIX_FMT_FLAG_SET_CSC = 0x2
"""The colour fields below are a wish; drivers that cannot convert leave them alone."""
COLORSPACE_SMPTE170M, YCBCR_ENC_601, QUANTIZATION_LIM_RANGE = 1, 1, 2


class Capability(Structure):
    _fields_ = [
        ("driver", c_char * 16),
        ("card", c_char * 32),
        ("bus_info", c_char * 32),
        ("version", c_uint32),
        ("capabilities", c_uint32),
        ("device_caps", c_uint32),
        ("reserved", c_uint32 * 3),
    ]


class FmtDesc(Structure):
    _fields_ = [
        ("index", c_uint32),
        ("type", c_uint32),
        ("flags", c_uint32),
        ("description", c_char * 32),
        ("pixelformat", c_uint32),
        ("mbus_code", c_uint32),
        ("reserved", c_uint32 * 3),
    ]


class FrmSizeDiscrete(Structure):
    _fields_ = [("width", c_uint32), ("height", c_uint32)]


class FrmSizeStepwise(Structure):
    _fields_ = [
        ("min_width", c_uint32),
        ("max_width", c_uint32),
        ("step_width", c_uint32),
        ("min_height", c_uint32),
        ("max_height", c_uint32),
        ("step_height", c_uint32),
    ]


class _FrmSizeUnion(Union):
    _fields_ = [("discrete", FrmSizeDiscrete), ("stepwise", FrmSizeStepwise)]


class FrmSizeEnum(Structure):
    _anonymous_ = ("u",)
    _fields_ = [
        ("index", c_uint32),
        ("pixel_format", c_uint32),
        ("type", c_uint32),
        ("u", _FrmSizeUnion),
        ("reserved", c_uint32 * 2),
    ]


class Fract(Structure):
    _fields_ = [("numerator", c_uint32), ("denominator", c_uint32)]


class FrmIvalStepwise(Structure):
    _fields_ = [("min", Fract), ("max", Fract), ("step", Fract)]


class _FrmIvalUnion(Union):
    _fields_ = [("discrete", Fract), ("stepwise", FrmIvalStepwise)]


class FrmIvalEnum(Structure):
    _anonymous_ = ("u",)
    _fields_ = [
        ("index", c_uint32),
        ("pixel_format", c_uint32),
        ("width", c_uint32),
        ("height", c_uint32),
        ("type", c_uint32),
        ("u", _FrmIvalUnion),
        ("reserved", c_uint32 * 2),
    ]


class PixFormat(Structure):
    _fields_ = [
        ("width", c_uint32),
        ("height", c_uint32),
        ("pixelformat", c_uint32),
        ("field", c_uint32),
        ("bytesperline", c_uint32),
        ("sizeimage", c_uint32),
        ("colorspace", c_uint32),
        ("priv", c_uint32),
        ("flags", c_uint32),
        ("ycbcr_enc", c_uint32),
        ("quantization", c_uint32),
        ("xfer_func", c_uint32),
    ]


# The kernel marks the next two as packed; their fields lie the same without.
class PlanePixFormat(Structure):
    _fields_ = [
        ("sizeimage", c_uint32),
        ("bytesperline", c_uint32),
        ("reserved", c_uint16 * 6),
    ]


class PixFormatMplane(Structure):
    _fields_ = [
        ("width", c_uint32),
        ("height", c_uint32),
        ("pixelformat", c_uint32),
        ("field", c_uint32),
        ("colorspace", c_uint32),
        ("plane_fmt", PlanePixFormat * MAX_PLANES),
        ("num_planes", c_uint8),
        ("flags", c_uint8),
        ("ycbcr_enc", c_uint8),
        ("quantization", c_uint8),
        ("xfer_func", c_uint8),
        ("reserved", c_uint8 * 7),
    ]


class _FormatUnion(Union):
    # Another member of the kernel's union holds pointers, which sets the alignment of all.
    _fields_ = [
        ("pix", PixFormat),
        ("pix_mp", PixFormatMplane),
        ("raw_data", c_uint8 * 200),
        ("aligned", ctypes.c_void_p),
    ]


class Format(Structure):
    _fields_ = [("type", c_uint32), ("fmt", _FormatUnion)]


class CaptureParm(Structure):
    _fields_ = [
        ("capability", c_uint32),
        ("capturemode", c_uint32),
        ("timeperframe", Fract),
        ("extendedmode", c_uint32),
        ("readbuffers", c_uint32),
        ("reserved", c_uint32 * 4),
    ]


class _StreamParmUnion(Union):
    _fields_ = [("capture", CaptureParm), ("raw_data", c_uint8 * 200)]


class StreamParm(Structure):
    _fields_ = [("type", c_uint32), ("parm", _StreamParmUnion)]


class RequestBuffers(Structure):
    _fields_ = [
        ("count", c_uint32),
        ("type", c_uint32),
        ("memory", c_uint32),
        ("capabilities", c_uint32),
        ("flags", c_uint8),
        ("reserved", c_uint8 * 3),
    ]


class _PlaneUnion(Union):
    _fields_ = [("mem_offset", c_uint32), ("userptr", c_ulong), ("fd", c_int32)]


class Plane(Structure):
    _fields_ = [
        ("bytesused", c_uint32),
        ("length", c_uint32),
        ("m", _PlaneUnion),
        ("data_offset", c_uint32),
        ("reserved", c_uint32 * 11),
    ]


class Timeval(Structure):
    _fields_ = [("tv_sec", c_long), ("tv_usec", c_long)]


class Timecode(Structure):
    _fields_ = [("type", c_uint32), ("flags", c_uint32), ("rest", c_uint8 * 8)]


class _BufferUnion(Union):
    _fields_ = [
        ("offset", c_uint32),
        ("userptr", c_ulong),
        ("planes", ctypes.POINTER(Plane)),
        ("fd", c_int32),
    ]


class Buffer(Structure):
    _fields_ = [
        ("index", c_uint32),
        ("type", c_uint32),
        ("bytesused", c_uint32),
        ("flags", c_uint32),
        ("field", c_uint32),
        ("timestamp", Timeval),
        ("timecode", Timecode),
        ("sequence", c_uint32),
        ("memory", c_uint32),
        ("m", _BufferUnion),
        ("length", c_uint32),
        ("reserved2", c_uint32),
        ("request_fd", c_int32),
    ]


class ExportBuffer(Structure):
    _fields_ = [
        ("type", c_uint32),
        ("index", c_uint32),
        ("plane", c_uint32),
        ("flags", c_uint32),
        ("fd", c_int32),
        ("reserved", c_uint32 * 11),
    ]


class EventSubscription(Structure):
    _fields_ = [
        ("type", c_uint32),
        ("id", c_uint32),
        ("flags", c_uint32),
        ("reserved", c_uint32 * 5),
    ]


class SourceChange(Structure):
    _fields_ = [("changes", c_uint32)]


class _EventUnion(Union):
    # Another member of the kernel's union holds 64-bit numbers, which sets the alignment of all.
    _fields_ = [("src_change", SourceChange), ("data", c_uint8 * 64), ("aligned", ctypes.c_int64)]


class Timespec(Structure):
    _fields_ = [("tv_sec", c_long), ("tv_nsec", c_long)]


class Event(Structure):
    _fields_ = [
        ("type", c_uint32),
        ("u", _EventUnion),
        ("pending", c_uint32),
        ("sequence", c_uint32),
        ("timestamp", Timespec),
        ("id", c_uint32),
        ("reserved", c_uint32 * 8),
    ]


_WRITE, _READ = 1, 2


def _number(direction: int, number: int, argument: type[ctypes._CData]) -> int:
    return direction << 30 | ctypes.sizeof(argument) << 16 | ord("V") << 8 | number


QUERYCAP = _number(_READ, 0, Capability)
ENUM_FMT = _number(_READ | _WRITE, 2, FmtDesc)
S_FMT = _number(_READ | _WRITE, 5, Format)
REQBUFS = _number(_READ | _WRITE, 8, RequestBuffers)
QUERYBUF = _number(_READ | _WRITE, 9, Buffer)
QBUF = _number(_READ | _WRITE, 15, Buffer)
EXPBUF = _number(_READ | _WRITE, 16, ExportBuffer)
DQBUF = _number(_READ | _WRITE, 17, Buffer)
STREAMON = _number(_WRITE, 18, ctypes.c_int)
STREAMOFF = _number(_WRITE, 19, ctypes.c_int)
G_PARM = _number(_READ | _WRITE, 21, StreamParm)
S_PARM = _number(_READ | _WRITE, 22, StreamParm)
ENUM_FRAMESIZES = _number(_READ | _WRITE, 74, FrmSizeEnum)
ENUM_FRAMEINTERVALS = _number(_READ | _WRITE, 75, FrmIvalEnum)
DQEVENT = _number(_READ, 89, Event)
SUBSCRIBE_EVENT = _number(_WRITE, 90, EventSubscription)


def code_of(fourcc: str) -> int:
    """Four characters as the kernel's number: the first one lowest."""
    return int.from_bytes(fourcc.encode("ascii"), "little")


def fourcc_of(code: int) -> str:
    """The four characters of a format's number; a format of the other byte order has bit 31."""
    return (code & 0x7FFFFFFF).to_bytes(4, "little").decode("ascii", "replace")
