"""Picture files as people have them: pixels that are right, or one line that says what is wrong."""

from __future__ import annotations

import io
import os
import random
import socket
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageChops

from edgefaced.errors import DependencyMissing, PictureError
from edgefaced.pictures import decode
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.types import U8, PixelFormat

NOBODY = 65534
WIDTH, HEIGHT = 48, 32


def scene() -> Image.Image:
    """Four coloured quarters, so that every turn and every swap of channels shows."""
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    half, middle = HEIGHT // 2, WIDTH // 2
    pixels[:half, :middle] = (220, 30, 40)
    pixels[:half, middle:] = (30, 200, 50)
    pixels[half:, :middle] = (40, 60, 230)
    pixels[half:, middle:] = (240, 240, 240)
    return Image.fromarray(pixels)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    if kind == "HEIF":
        pillow_heif = pytest.importorskip("pillow_heif")
        pillow_heif.from_pillow(image).save(buffer, quality=90)
    else:
        image.save(buffer, kind, **options)
    return buffer.getvalue()


def decoded(path: Path, data: bytes) -> U8:
    path.write_bytes(data)
    return read_picture(path)


def close(a: U8, b: U8, mean_difference: float = 3.0) -> bool:
    return a.shape == b.shape and float(np.abs(a.astype(int) - b).mean()) <= mean_difference


@pytest.fixture
def truth() -> U8:
    """The scene as it must come out: BGR."""
    return np.ascontiguousarray(np.asarray(scene())[:, :, ::-1])


KINDS: dict[str, Callable[[], bytes]] = {
    "jpeg": lambda: encoded(scene(), "JPEG", quality=95, subsampling=0),
    "progressive jpeg": lambda: encoded(
        scene(), "JPEG", quality=95, subsampling=0, progressive=True
    ),
    "cmyk jpeg": lambda: encoded(scene().convert("CMYK"), "JPEG", quality=95, subsampling=0),
    "png": lambda: encoded(scene(), "PNG"),
    "palette png": lambda: encoded(scene().convert("P", palette=Image.Palette.ADAPTIVE), "PNG"),
    "alpha png": lambda: encoded(scene().convert("RGBA"), "PNG"),
    "webp": lambda: encoded(scene(), "WEBP", lossless=True),
    "bmp": lambda: encoded(scene(), "BMP"),
    "gif": lambda: encoded(scene(), "GIF"),
    "animated gif": lambda: encoded(
        scene(), "GIF", save_all=True, append_images=[Image.new("RGB", (WIDTH, HEIGHT))]
    ),
    "ppm": lambda: encoded(scene(), "PPM"),
    "heic": lambda: encoded(scene(), "HEIF"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_the_same_bgr_pixels(kind: str, truth: U8, tmp_path: Path) -> None:
    # The name says nothing: kinds are told by content.
    pixels = decoded(tmp_path / "picture.txt", KINDS[kind]())
    assert close(pixels, truth, 12.0 if kind == "cmyk jpeg" else 4.0)
    assert pixels.flags.c_contiguous
    assert pixels.flags.owndata


def test_cmyk_without_adobes_marker_is_not_inverted(truth: U8, tmp_path: Path) -> None:
    inverted = ImageChops.invert(scene().convert("CMYK"))
    data = encoded(inverted, "JPEG", quality=95, subsampling=0)
    start = data.index(b"\xff\xee")  # APP14, which Pillow writes
    end = start + 2 + int.from_bytes(data[start + 2 : start + 4], "big")
    assert b"Adobe" in data[start:end]
    assert close(decoded(tmp_path / "a.jpg", data[:start] + data[end:]), truth, 12.0)


def test_of_several_pictures_in_a_file_the_first_counts(truth: U8, tmp_path: Path) -> None:
    black = Image.new("RGB", (WIDTH, HEIGHT))
    for kind, options in (("MPO", {"quality": 95}), ("WEBP", {"lossless": True})):
        data = encoded(scene(), kind, save_all=True, append_images=[black], **options)
        assert close(decoded(tmp_path / "a", data), truth, 12.0)
    # What follows the end of a JPEG (a phone's film, say) is not looked at.
    data = KINDS["jpeg"]() + b"\x00\x00\x00\x18ftypmp42" + bytes(500)
    assert close(decoded(tmp_path / "motion.jpg", data), truth)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_orientation_counts_in_other_formats_too(kind: str, truth: U8, tmp_path: Path) -> None:
    stored = Image.fromarray(np.ascontiguousarray(np.rot90(np.asarray(scene()), 1)))
    exif = Image.Exif()
    exif[0x0112] = 6
    options = {"lossless": True} if kind == "WEBP" else {}
    data = encoded(stored, kind, exif=exif, **options)
    assert close(decoded(tmp_path / "a", data), truth, 4.0)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_comes_out_upright(
    orientation: int, truth: U8, tmp_path: Path
) -> None:
    turns = {
        1: lambda a: a,
        2: np.fliplr,
        3: lambda a: np.rot90(a, 2),
        4: np.flipud,
        5: lambda a: a.transpose(1, 0, 2),
        6: lambda a: np.rot90(a, 1),
        7: lambda a: np.rot90(a, 2).transpose(1, 0, 2),
        8: lambda a: np.rot90(a, 3),
    }
    stored = Image.fromarray(np.ascontiguousarray(turns[orientation](np.asarray(scene()))))
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(stored, "JPEG", quality=95, subsampling=0, exif=exif)
    assert close(decoded(tmp_path / "turned.jpg", data), truth)


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_a_senseless_orientation_is_ignored(value: int, truth: U8, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = value
    data = encoded(scene(), "JPEG", quality=95, subsampling=0, exif=exif)
    assert close(decoded(tmp_path / "a.jpg", data), truth)


def test_a_broken_exif_block_does_not_cost_the_picture(truth: U8, tmp_path: Path) -> None:
    data = encoded(scene(), "JPEG", quality=95, subsampling=0, exif=b"Exif\0\0II*\0" + b"\xff" * 40)
    assert close(decoded(tmp_path / "a.jpg", data), truth)


@pytest.mark.parametrize("kind", ["PNG", "PPM"])
def test_sixteen_bit_grey_keeps_its_range(kind: str, tmp_path: Path) -> None:
    ramp = np.tile(np.arange(0, 65536, 256, dtype=np.uint16), (8, 1))
    if kind == "PNG":
        data = encoded(Image.fromarray(ramp), "PNG")
    else:
        data = b"P5 256 8 65535\n" + ramp.astype(">u2").tobytes()
    pixels = decoded(tmp_path / "grey16", data)
    assert np.array_equal(pixels[0, :, 0], np.arange(256))
    assert np.array_equal(pixels[..., 0], pixels[..., 2])


def test_twelve_bits_in_a_pgm_are_scaled_by_its_own_maximum(tmp_path: Path) -> None:
    values = np.array([[0, 2048, 4095]], dtype=">u2")
    pixels = decoded(tmp_path / "a.pgm", b"P5 3 1 4095\n" + values.tobytes())
    assert pixels[0, :, 0].tolist() == [0, 128, 255]


def test_sixteen_bit_colour_keeps_its_range(tmp_path: Path) -> None:
    values = np.array([[[65535, 32768, 0], [255, 256, 65280]]], dtype=">u2")
    pixels = decoded(tmp_path / "a.ppm", b"P6 2 1 65535\n" + values.tobytes())
    assert np.abs(pixels.astype(int) - [[[0, 128, 255], [255, 1, 1]]]).max() <= 1


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "RGB"])
def test_what_is_transparent_lies_on_mid_grey(mode: str, tmp_path: Path) -> None:
    alpha = Image.new("RGBA", (4, 2), (0, 0, 0, 0))
    alpha.putpixel((0, 0), (255, 255, 255, 255))
    if mode in {"L", "RGB"}:  # one colour is declared transparent
        clear: object = 0 if mode == "L" else (0, 0, 0)
        data = encoded(alpha.convert(mode), "PNG", transparency=clear)
    elif mode == "P":
        data = encoded(alpha.quantize(2), "PNG")
    else:
        data = encoded(alpha.convert(mode), "PNG")
    pixels = decoded(tmp_path / "a.png", data)
    assert pixels[0, 0].tolist() == [255, 255, 255]
    assert pixels[1, 3].tolist() == [128, 128, 128]


def test_half_transparent_pixels_are_mixed_with_the_ground(tmp_path: Path) -> None:
    data = encoded(Image.new("RGBA", (2, 2), (255, 255, 255, 128)), "PNG")
    assert abs(int(decoded(tmp_path / "a.png", data)[0, 0, 0]) - 192) <= 1


def test_a_bitmap_is_black_and_white(tmp_path: Path) -> None:
    pixels = decoded(tmp_path / "a.pbm", b"P1 2 1\n1 0\n")
    assert pixels[0, :, 0].tolist() == [0, 255]


def test_real_numbers_are_not_pixels(tmp_path: Path) -> None:
    with pytest.raises(PictureError, match="not a picture"):
        decoded(tmp_path / "a.pfm", b"Pf 1 1 -1.0\n" + bytes(4))


@pytest.mark.parametrize(
    ("size", "expected"), [((400, 100), (100, 25)), ((99, 100), (99, 100)), ((3000, 2), (100, 1))]
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_large_pictures_are_reduced_and_small_ones_kept(
    size: tuple[int, int], expected: tuple[int, int], kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_bytes(encoded(Image.new("RGB", size, (10, 20, 30)), kind))
    pixels = read_picture(path, max_side_px=100)
    assert (pixels.shape[1], pixels.shape[0]) == expected
    assert np.abs(pixels.astype(int) - [30, 20, 10]).max() <= 2


def test_a_turned_picture_is_reduced_by_its_own_sides(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "a.jpg"
    path.write_bytes(encoded(Image.new("RGB", (400, 200)), "JPEG", exif=exif))
    assert read_picture(path, max_side_px=100).shape == (100, 50, 3)


CUT = ["jpeg", "progressive jpeg", "cmyk jpeg", "png", "webp", "gif", "heic", "bmp", "ppm"]


@pytest.mark.parametrize("part", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("kind", CUT)
def test_a_picture_that_is_cut_off_is_refused(kind: str, part: float, tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    data = whole(kind, Image.fromarray(noise))
    with pytest.raises(PictureError, match=r"cut off|damaged"):
        decoded(tmp_path / "a", data[: int(len(data) * part)])


@pytest.mark.parametrize("kind", [k for k in CUT if k not in {"bmp", "ppm"}])
def test_a_download_that_ends_in_zeros_is_refused(kind: str, tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    data = whole(kind, Image.fromarray(noise))
    there = len(data) // 2
    with pytest.raises(PictureError, match=r"cut off|damaged"):
        decoded(tmp_path / "a", data[:there] + bytes(len(data) - there))


def whole(kind: str, image: Image.Image) -> bytes:
    match kind:
        case "progressive jpeg":
            return encoded(image, "JPEG", progressive=True)
        case "cmyk jpeg":
            return encoded(image.convert("CMYK"), "JPEG")
        case "heic":
            return encoded(image, "HEIF")
        case _:
            return encoded(image, kind.upper())


def test_a_flipped_bit_in_a_png_is_noticed(tmp_path: Path) -> None:
    data = bytearray(KINDS["png"]())
    data[len(data) // 2] ^= 1
    with pytest.raises(PictureError, match="cut off or damaged"):
        decoded(tmp_path / "a.png", bytes(data))


def test_no_damage_ends_in_anything_but_one_line(tmp_path: Path) -> None:
    rng = random.Random(20)
    originals = [
        make() for kind, make in KINDS.items() if kind != "heic" or find_spec("pillow_heif")
    ]
    path = tmp_path / "damaged"
    refusals = []
    for _ in range(1500):
        data = bytearray(rng.choice(originals))
        for _ in range(rng.choice([1, 3, 20])):
            at = rng.randrange(min(len(data), rng.choice([64, 10_000])))
            if rng.random() < 0.7:
                data[at] = rng.randrange(256)
            else:
                data[at:at] = rng.randbytes(3)
        path.write_bytes(data)
        try:
            read_picture(path)
        except PictureError as error:
            refusals.append(str(error))
    assert len(refusals) > 500
    assert not [line for line in refusals if "\n" in line]


def test_what_is_not_a_picture_says_so(tmp_path: Path) -> None:
    for data, words in [
        (b"", "empty"),
        (b"Hello, this is a letter to grandmother.", "not a picture"),
        (b"BM is how this text begins, and it goes on", "not a picture"),
        (b"\x00" * 100, "not a picture"),
        (b"\xff\xd8\xff", "cut off"),
        (b"\x89PNG\r\n\x1a\n", "cut off"),
        (b"\x00\x00\x00\x20ftypisom" + bytes(100), "a video"),
        (b"\x00\x00\x00\x20ftypavif" + bytes(100), "not a picture"),
        (b"GIF89a", "cut off|damaged"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "damaged"),
        (b"P5 ", "damaged|cut off"),
    ]:
        with pytest.raises(PictureError, match=words):
            decoded(tmp_path / "thing", data)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path, words in [
            (tmp_path / "pipe", "not a regular file"),
            (tmp_path / "socket", "not a regular file"),
            (Path("/dev/zero"), "not a regular file"),
            (tmp_path, "is a folder"),
            (tmp_path / "absent.jpg", "No such file"),
            (tmp_path / ("x" * 300), "name too long"),
            (Path("a\0b"), "null"),
        ]:
            with pytest.raises(PictureError, match=words):
                read_picture(path)


def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.jpg"
    path.write_bytes(KINDS["jpeg"]())
    path.chmod(0)
    own = os.geteuid()
    try:
        if own == 0:  # root may read everything
            os.seteuid(NOBODY)
        with pytest.raises(PictureError, match="Permission denied"):
            read_picture(path)
    finally:
        os.seteuid(own)


def test_sizes_that_no_board_could_decode_are_refused_by_the_header(tmp_path: Path) -> None:
    bomb = bytearray(encoded(Image.new("L", (8, 8)), "BMP"))
    bomb[18:26] = (60_000).to_bytes(4, "little") * 2
    with pytest.raises(PictureError, match=r"too large \(60000x60000\)"):
        decoded(tmp_path / "bomb.bmp", bytes(bomb))
    with pytest.raises(PictureError, match=r"too large \(20000x20000\)"):
        decoded(tmp_path / "bomb.pgm", b"P5 20000 20000 255\n")


def test_a_file_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse.webp"
    path.write_bytes(KINDS["webp"]())
    os.truncate(path, 1 << 34)
    with pytest.raises(PictureError, match="too large"):
        read_picture(path)


def test_heic_without_its_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(DependencyMissing, match="heic"):
        decoded(tmp_path / "a.heic", b"\x00\x00\x00\x18ftypheic" + b"\x01" * 100)


def test_names_with_line_breaks_are_named_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "first\nsecond.jpg"
    path.write_bytes(KINDS["jpeg"]())
    assert read_picture(path).shape == (HEIGHT, WIDTH, 3)


def test_a_frame_borrows_the_pixels(truth: U8) -> None:
    frame = frame_of(truth, 7)
    assert (frame.sequence, frame.pixel_format) == (7, PixelFormat.BGR)
    assert frame.pixels is truth
    assert frame.captured_ns <= frame_of(truth).captured_ns


def test_the_stated_limits_hold() -> None:
    assert decode.MAX_WEBP_PIXELS < decode.MAX_PIXELS < decode.MAX_JPEG_PIXELS


def test_a_picture_beyond_this_process_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(decode, "png_is_whole", no_room)
    with pytest.raises(PictureError, match="not enough memory"):
        decoded(tmp_path / "a.png", KINDS["png"]())
