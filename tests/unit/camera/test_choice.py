"""Which format is asked for."""

from __future__ import annotations

import pytest

from edgefaced.camera.v4l2.choice import Choice, Offer, SizeRange, choose
from edgefaced.errors import CameraError
from edgefaced.protocols import CameraDescription, CameraWish
from edgefaced.types import PixelFormat

HD, VGA, FULL = (1280, 720), (640, 480), (1920, 1080)
USB = [
    Offer("MJPG", *HD, (30.0, 15.0)),
    Offer("MJPG", *VGA, (30.0,)),
    Offer("MJPG", *FULL, (30.0,)),
    Offer("YUYV", *HD, (10.0, 5.0)),
    Offer("YUYV", *VGA, (30.0, 15.0)),
    Offer("H264", 0, 0),
]
"""Many a USB camera: raw pictures are slow, compressed ones are not."""


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (CameraWish(*HD, 30.0), Choice("MJPG", *HD, 30.0)),
        (CameraWish(*HD, 10.0), Choice("YUYV", *HD, 10.0)),
        (CameraWish(*HD, 12.0), Choice("MJPG", *HD, 15.0)),
        (CameraWish(*VGA, 30.0), Choice("YUYV", *VGA, 30.0)),
        (CameraWish(*VGA, 7.0), Choice("YUYV", *VGA, 15.0)),
        (CameraWish(*HD, 30.0, "YUYV"), Choice("YUYV", *HD, 10.0)),
        (CameraWish(), Choice("YUYV", *HD, 10.0)),
        (CameraWish(*VGA, 200.0), Choice("YUYV", *VGA, 30.0)),
        (CameraWish(1600, 900, 30.0), Choice("MJPG", *FULL, 30.0)),
        (CameraWish(width=640), Choice("YUYV", *VGA, 30.0)),
    ],
)
def test_size_first_then_rate_then_least_work(wish: CameraWish, expected: Choice) -> None:
    assert choose(USB, wish) == expected


def test_formats_in_place_come_before_those_that_are_decoded() -> None:
    codes = ["MJPG", "RGB3", "BGR3", "YUYV", "YU12", "NM12", "NV12"]
    while codes:
        chosen = choose([Offer(code, *HD, (30.0,)) for code in codes], CameraWish(*HD, 30.0))
        assert chosen.fourcc == codes.pop()


def test_a_driver_that_names_no_rates_is_asked_for_the_wish() -> None:
    assert choose([Offer("NV12", *HD)], CameraWish(*HD, 25.0)) == Choice("NV12", *HD, 25.0)
    assert choose([Offer("NV12", *HD)], CameraWish(*HD)).rate is None


@pytest.mark.parametrize(
    ("offers", "wish", "words"),
    [
        (USB, CameraWish(pixel_format="NV12"), ["NV12", "H264, MJPG, YUYV"]),
        ([Offer("H264", 0, 0)], CameraWish(), ["H264"]),
        ([], CameraWish(), ["nothing"]),
    ],
)
def test_what_is_not_there_is_said_with_what_is(
    offers: list[Offer], wish: CameraWish, words: list[str]
) -> None:
    with pytest.raises(CameraError) as caught:
        choose(offers, wish)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "wished", "expected"),
    [
        (SizeRange((16, 16), (4096, 2304)), HD, HD),
        (SizeRange((16, 16), (4096, 2304)), (1281, 721), HD),
        (SizeRange((2592, 1944), (2592, 1944)), HD, (2592, 1944)),
        (SizeRange((32, 32), (800, 600), (16, 8)), HD, (800, 600)),
        (SizeRange((48, 32), (4416, 3312), (8, 8)), (1000, 500), (1000, 496)),
        (SizeRange((320, 240), (4096, 2304)), (64, 64), (320, 240)),
        (SizeRange((15, 15), (99, 99), (0, 0)), (15, 51), (15, 50)),
    ],
)
def test_a_range_gives_the_nearest_even_size(
    sizes: SizeRange, wished: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert sizes.nearest(*wished) == expected


@pytest.mark.parametrize(
    ("wish", "size"),
    [
        (CameraWish(), (1280, 720)),
        (CameraWish(width=640), (640, 360)),
        (CameraWish(height=1080), (1920, 1080)),
        (CameraWish(width=640, height=480), (640, 480)),
    ],
)
def test_an_open_side_follows_the_other(wish: CameraWish, size: tuple[int, int]) -> None:
    assert wish.size() == size


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (CameraWish(1280, 720, 30.0, "MJPEG"), []),
        (CameraWish(1280, 720, 29.97), []),
        (CameraWish(), []),
        (CameraWish(height=720), []),
        (CameraWish(1920, 1080), ["1920x1080 asked, 1280x720 given"]),
        (CameraWish(width=1920), ["1920xany asked, 1280x720 given"]),
        (CameraWish(pixel_format="NV12"), ["NV12 asked, MJPEG given"]),
        (CameraWish(frames_per_second=60.0), ["60 frames a second asked, 30 given"]),
    ],
)
def test_what_differs_from_the_wish_is_said(wish: CameraWish, words: list[str]) -> None:
    given = CameraDescription(
        "cam", "/dev/video0", 1280, 720, PixelFormat.BGR, "MJPEG", 30.0, 4, False, wish
    )
    assert list(given.differences()) == words


def test_a_rate_that_is_not_promised_is_said() -> None:
    wish = CameraWish(frames_per_second=30.0)
    given = CameraDescription(
        "cam", "/dev/video0", 1280, 720, PixelFormat.NV12, "NV12", None, 4, True, wish
    )
    assert given.differences() == ("30 frames a second asked, none promised",)
