"""Our structures are the kernel's: sizes, offsets and call numbers, from its own header."""

from __future__ import annotations

import ctypes
import json
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from edgefaced.camera.v4l2 import ioctl as v4l2

STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "v4l2_capability": v4l2.Capability,
    "v4l2_fmtdesc": v4l2.FmtDesc,
    "v4l2_frmsizeenum": v4l2.FrmSizeEnum,
    "v4l2_frmivalenum": v4l2.FrmIvalEnum,
    "v4l2_pix_format": v4l2.PixFormat,
    "v4l2_plane_pix_format": v4l2.PlanePixFormat,
    "v4l2_pix_format_mplane": v4l2.PixFormatMplane,
    "v4l2_format": v4l2.Format,
    "v4l2_captureparm": v4l2.CaptureParm,
    "v4l2_streamparm": v4l2.StreamParm,
    "v4l2_requestbuffers": v4l2.RequestBuffers,
    "v4l2_plane": v4l2.Plane,
    "v4l2_buffer": v4l2.Buffer,
    "v4l2_exportbuffer": v4l2.ExportBuffer,
    "v4l2_event_subscription": v4l2.EventSubscription,
    "v4l2_event": v4l2.Event,
}
OURS_ALONE = {
    ("v4l2_frmsizeenum", "u"),
    ("v4l2_frmivalenum", "u"),
    ("v4l2_pix_format_mplane", "ycbcr_enc"),  # in an unnamed union there
    ("v4l2_buffer", "request_fd"),  # likewise
    # Not in older headers, where they are reserved words.
    ("v4l2_fmtdesc", "mbus_code"),
    ("v4l2_requestbuffers", "flags"),
    ("v4l2_requestbuffers", "capabilities"),
    ("v4l2_requestbuffers", "reserved"),
    ("v4l2_fmtdesc", "reserved"),
    ("v4l2_pix_format", "ycbcr_enc"),
}
NUMBERS = {
    "VIDIOC_QUERYCAP": (v4l2.QUERYCAP, 0x80685600),
    "VIDIOC_ENUM_FMT": (v4l2.ENUM_FMT, 0xC0405602),
    "VIDIOC_S_FMT": (v4l2.S_FMT, 0xC0D05605),
    "VIDIOC_REQBUFS": (v4l2.REQBUFS, 0xC0145608),
    "VIDIOC_QUERYBUF": (v4l2.QUERYBUF, 0xC0585609),
    "VIDIOC_QBUF": (v4l2.QBUF, 0xC058560F),
    "VIDIOC_EXPBUF": (v4l2.EXPBUF, 0xC0405610),
    "VIDIOC_DQBUF": (v4l2.DQBUF, 0xC0585611),
    "VIDIOC_STREAMON": (v4l2.STREAMON, 0x40045612),
    "VIDIOC_STREAMOFF": (v4l2.STREAMOFF, 0x40045613),
    "VIDIOC_G_PARM": (v4l2.G_PARM, 0xC0CC5615),
    "VIDIOC_S_PARM": (v4l2.S_PARM, 0xC0CC5616),
    "VIDIOC_ENUM_FRAMESIZES": (v4l2.ENUM_FRAMESIZES, 0xC02C564A),
    "VIDIOC_ENUM_FRAMEINTERVALS": (v4l2.ENUM_FRAMEINTERVALS, 0xC034564B),
    "VIDIOC_DQEVENT": (v4l2.DQEVENT, 0x80885659),
    "VIDIOC_SUBSCRIBE_EVENT": (v4l2.SUBSCRIBE_EVENT, 0x4020565A),
}
"""Name: ours, and the kernel's on 64-bit x86 and ARM."""

CONSTANTS = {
    "V4L2_BUF_TYPE_VIDEO_CAPTURE": v4l2.BUF_TYPE_CAPTURE,
    "V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE": v4l2.BUF_TYPE_CAPTURE_MPLANE,
    "V4L2_MEMORY_MMAP": v4l2.MEMORY_MMAP,
    "V4L2_FIELD_NONE": v4l2.FIELD_NONE,
    "VIDEO_MAX_PLANES": v4l2.MAX_PLANES,
    "V4L2_CAP_VIDEO_CAPTURE": v4l2.CAP_VIDEO_CAPTURE,
    "V4L2_CAP_VIDEO_CAPTURE_MPLANE": v4l2.CAP_VIDEO_CAPTURE_MPLANE,
    "V4L2_CAP_STREAMING": v4l2.CAP_STREAMING,
    "V4L2_CAP_DEVICE_CAPS": v4l2.CAP_DEVICE_CAPS,
    "V4L2_CAP_TIMEPERFRAME": v4l2.CAP_TIMEPERFRAME,
    "V4L2_BUF_FLAG_ERROR": v4l2.BUF_FLAG_ERROR,
    "V4L2_BUF_FLAG_TIMESTAMP_MASK": v4l2.BUF_FLAG_TIMESTAMP_MASK,
    "V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC": v4l2.BUF_FLAG_TIMESTAMP_MONOTONIC,
    "V4L2_FRMSIZE_TYPE_DISCRETE": v4l2.FRAME_TYPE_DISCRETE,
    "V4L2_FRMIVAL_TYPE_DISCRETE": v4l2.FRAME_TYPE_DISCRETE,
    "V4L2_EVENT_SOURCE_CHANGE": v4l2.EVENT_SOURCE_CHANGE,
    "V4L2_EVENT_SRC_CH_RESOLUTION": v4l2.SOURCE_CHANGE_RESOLUTION,
    "V4L2_PIX_FMT_PRIV_MAGIC": v4l2.PIX_FMT_PRIV_MAGIC,
    "V4L2_PIX_FMT_FLAG_SET_CSC": v4l2.PIX_FMT_FLAG_SET_CSC,
    "V4L2_COLORSPACE_SMPTE170M": v4l2.COLORSPACE_SMPTE170M,
    "V4L2_YCBCR_ENC_601": v4l2.YCBCR_ENC_601,
    "V4L2_QUANTIZATION_LIM_RANGE": v4l2.QUANTIZATION_LIM_RANGE,
    "V4L2_PIX_FMT_NV12": v4l2.code_of("NV12"),
    "V4L2_PIX_FMT_NV12M": v4l2.code_of("NM12"),
    "V4L2_PIX_FMT_YUV420": v4l2.code_of("YU12"),
    "V4L2_PIX_FMT_YUYV": v4l2.code_of("YUYV"),
    "V4L2_PIX_FMT_BGR24": v4l2.code_of("BGR3"),
    "V4L2_PIX_FMT_RGB24": v4l2.code_of("RGB3"),
    "V4L2_PIX_FMT_MJPEG": v4l2.code_of("MJPG"),
    "V4L2_PIX_FMT_JPEG": v4l2.code_of("JPEG"),
}


def fields() -> list[tuple[str, str, int]]:
    """Structure, field and our offset of everything that has the same name in the header."""
    return [
        (kernel, field, getattr(ours, field).offset)
        for kernel, ours in STRUCTURES.items()
        for field in (entry[0] for entry in ours._fields_)
        if (kernel, field) not in OURS_ALONE
    ]


def test_the_header_agrees(tmp_path: Path) -> None:
    if shutil.which("gcc") is None or not Path("/usr/include/linux/videodev2.h").exists():
        pytest.skip("no compiler with the kernel's headers here: apt-get install gcc libc6-dev")
    lines = [f'P("{name}", (unsigned long)sizeof(struct {name}));' for name in STRUCTURES]
    lines += [f'P("{s}.{f}", offsetof(struct {s}, {f}));' for s, f, _ in fields()]
    lines += [f'P("{name}", (unsigned long)(unsigned){name});' for name in (*NUMBERS, *CONSTANTS)]
    program = tmp_path / "header.c"
    program.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <sys/time.h>\n"
        "#include <linux/videodev2.h>\n"
        '#define P(n, v) printf(",\\"%s\\":%lu", n, (unsigned long)(v))\n'
        'int main(void) { printf("{\\"\\":0"); ' + " ".join(lines) + ' printf("}"); return 0; }\n'
    )
    binary = tmp_path / "header"
    subprocess.run(["gcc", "-o", binary, program], check=True)
    said = json.loads(subprocess.run([binary], check=True, capture_output=True).stdout)
    ours = {name: ctypes.sizeof(structure) for name, structure in STRUCTURES.items()}
    ours |= {f"{structure}.{field}": offset for structure, field, offset in fields()}
    ours |= {name: number for name, (number, _) in NUMBERS.items()} | CONSTANTS
    del said[""]
    assert said == ours


def test_call_numbers_of_64_bit_machines() -> None:
    if platform.machine() not in {"x86_64", "aarch64"}:
        pytest.skip("the table is of 64-bit x86 and ARM")
    assert {n: ours for n, (ours, _) in NUMBERS.items()} == {n: k for n, (_, k) in NUMBERS.items()}


def test_four_characters_there_and_back() -> None:
    assert v4l2.fourcc_of(v4l2.code_of("YUYV")) == "YUYV"
    assert v4l2.fourcc_of(v4l2.code_of("RGB3") | 1 << 31) == "RGB3"
    assert len(v4l2.fourcc_of(0xFFFFFFFF)) == 4  # whatever a driver says is a name
