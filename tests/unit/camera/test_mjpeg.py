"""Whole frames of Motion JPEG are decoded, everything else is refused."""

from __future__ import annotations

import resource

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.camera.mjpeg import decode, is_whole
from edgefaced.types import U8

PICTURE: U8 = np.asarray(
    cv2.resize(np.random.default_rng(5).integers(0, 255, (12, 16, 3), np.uint8), (160, 120)),
    np.uint8,
)


def jpeg(*options: int) -> bytes:
    return cv2.imencode(".jpg", PICTURE, list(options))[1].tobytes()


WHOLE = jpeg()
RESTARTS = jpeg(cv2.IMWRITE_JPEG_RST_INTERVAL, 2)


def taken(data: bytes, width: int = 160, height: int = 120) -> U8 | None:
    """As a camera does: what is not whole is never decoded."""
    return decode(data, width, height) if is_whole(data, width, height) else None


def without_tables(data: bytes) -> bytes:
    """As many cameras send: the Huffman tables that all have in common are left out."""
    out, at = data[:2], 2
    while data[at + 1] != 0xDA:
        length = 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        out += b"" if data[at + 1] == 0xC4 else data[at : at + length]
        at += length
    return out + data[at:]


@pytest.mark.parametrize(
    "data",
    [
        WHOLE,
        WHOLE + bytes(500),
        RESTARTS,
        without_tables(WHOLE),
        # A stream of the camera's own inside a segment, with what looks like markers.
        WHOLE[:2] + b"\xff\xe4\x00\x0a\xff\xd9\xff\xda\xff\xd8\x00\x00" + WHOLE[2:],
    ],
    ids=["plain", "padded", "restarts", "no tables", "segment with markers"],
)
def test_whole_frames_are_decoded(data: bytes) -> None:
    pixels = taken(data)
    assert pixels is not None
    assert np.abs(pixels.astype(int) - PICTURE).mean() < 4
    assert not pixels.flags.writeable


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xd8",
        b"\xff\xd8\xff\xd9",
        WHOLE[:-2],
        WHOLE[: len(WHOLE) // 2] + bytes(len(WHOLE) // 2),
        WHOLE[2:],
        WHOLE[: len(WHOLE) // 2] + WHOLE,
        WHOLE[:2] + b"\x00" + WHOLE[2:],
        RESTARTS[: RESTARTS.rindex(b"\xff\xd3")] + RESTARTS[RESTARTS.rindex(b"\xff\xd4") :],
        b"\xff\xd8\xff\xda\x00\x02\xff\xd9",
    ],
)
def test_damaged_frames_are_refused(data: bytes) -> None:
    assert taken(data) is None


def test_a_frame_of_another_size_is_refused() -> None:
    assert taken(WHOLE, 320, 240) is None


@pytest.mark.parametrize("side", [0, 161, 20_000, 65_535])
def test_a_size_that_is_not_the_cameras_is_refused_before_memory_is_asked_for(side: int) -> None:
    at = WHOLE.index(b"\xff\xc0")
    altered = WHOLE[: at + 5] + side.to_bytes(2, "big") * 2 + WHOLE[at + 9 :]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert taken(altered) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "kilobytes"
    twice = WHOLE[:at] + altered[at : at + 19] + WHOLE[at:]
    assert taken(twice) is None


@given(st.data())
def test_bytes_that_changed_on_the_wire_are_a_picture_or_refused(data: st.DataObject) -> None:
    frame = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    pixels = taken(bytes(frame))
    assert pixels is None or pixels.shape == (120, 160, 3)


@given(st.integers(0, len(WHOLE) - 2))
def test_a_frame_cut_off_anywhere_is_refused(length: int) -> None:
    assert not is_whole(WHOLE[:length], 160, 120)


@given(st.binary(max_size=400))
def test_no_bytes_are_a_fault_of_ours(data: bytes) -> None:
    is_whole(data, 160, 120)
    is_whole(b"\xff\xd8" + data, 160, 120)


def test_a_frame_that_turns_out_to_be_none_is_none() -> None:
    at = WHOLE.index(b"\xff\xdb")
    without_quantisation = WHOLE[: at + 4] + b"\xff" * 3 + WHOLE[at + 7 :]
    assert is_whole(without_quantisation, 160, 120)
    assert decode(without_quantisation, 160, 120) is None


def test_an_eighth_shows_the_same() -> None:
    pixels = decode(WHOLE, 160, 120, 8)
    assert pixels is not None
    assert pixels.shape == (15, 20, 3)
    small = cv2.resize(PICTURE, (20, 15), interpolation=cv2.INTER_AREA)
    assert np.abs(pixels.astype(int) - small).mean() < 4
    assert decode(WHOLE, 168, 120, 8) is None
