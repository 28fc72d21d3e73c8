"""One picture file to BGR pixels: upright, eight bits, opaque, whole, in bounded memory.

* A picture that is cut off is refused: half of a face in grey is nobody's template.
* Sixteen bits are scaled (the high byte is kept), transparency lies on mid-grey, CMYK is inverted
  where Adobe's marker says so; colour profiles are not applied.
* Baseline JPEGs are reduced while they are decoded, so their size costs time and no memory. What
  cannot be reduced (the other formats, progressive JPEGs) is refused above MAX_PIXELS.
"""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import cv2
import numpy as np
from PIL import Image, ImageChops, ImageFile

from edgefaced.errors import DependencyMissing, PictureError, extra
from edgefaced.pictures.files import HEAD_BYTES, READABLE, FileKind, kind_of, open_regular
from edgefaced.pictures.whole import ends_in_data, jpeg_is_whole, png_is_whole
from edgefaced.types import U8, Frame, PixelFormat

MAX_PIXELS = 50_000_000
"""Of a picture that has to be decoded whole."""
MAX_WEBP_PIXELS = 24_000_000
"""Its decoder keeps four copies."""
MAX_JPEG_PIXELS = 400_000_000
"""Of a baseline JPEG: about five seconds of decoding."""
MAX_FILE_BYTES = 256 * 1024 * 1024
MID_GREY = (128, 128, 128)

BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    RuntimeError,
    TypeError,
    LookupError,
    ArithmeticError,
    Image.DecompressionBombError,
)
"""What Pillow's decoders meet broken files with."""
_CUT_OFF = re.compile(r"truncat|unexpected end|end of (file|image|stream)|EOF|not enough", re.I)

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_EXIF_ORIENTATION = 0x0112

# One picture at a time: memory stays bounded whatever calls, and the warnings filter, which is
# the process's, is changed by one thread at a time.
_one_at_a_time = threading.Lock()


def read_picture(path: Path, *, max_side_px: int = 4096) -> U8:
    """Pixels of a picture file as BGR (height, width, 3), neither side above `max_side_px`.

    Raises PictureError, and DependencyMissing for HEIC where its library is not installed.
    """
    with open_regular(path) as file, _one_at_a_time, warnings.catch_warnings():
        # Pillow warns of oddities (a broken EXIF block, a malformed MPO) that change nothing here.
        warnings.simplefilter("ignore")
        try:
            return _decode(file, path, max_side_px)
        except MemoryError:
            raise PictureError(f"{path}: there is not enough memory for this picture") from None


def frame_of(pixels: U8, sequence: int = 0) -> Frame:
    """BGR pixels as a frame that was captured now."""
    return Frame(
        sequence=sequence,
        captured_ns=time.monotonic_ns(),
        pixels=pixels,
        pixel_format=PixelFormat.BGR,
    )


def _decode(file: BinaryIO, path: Path, max_side_px: int) -> U8:
    try:
        head = file.read(HEAD_BYTES)
        size_bytes = file.seek(0, 2)
        file.seek(0)
    except OSError as error:
        raise PictureError(f"{path}: {error.strerror or error}") from error
    kind = kind_of(head)
    if kind is None or kind is FileKind.VIDEO:
        what = "a video" if kind is FileKind.VIDEO else "not a picture"
        raise PictureError(f"{path}: is {what}", READABLE)
    if size_bytes > MAX_FILE_BYTES:
        raise PictureError(
            f"{path}: is too large ({size_bytes / 1e6:.0f} MB)",
            f"at most {MAX_FILE_BYTES / 1e6:.0f} MB are read",
        )
    try:
        if not _is_whole(kind, file):
            raise _cut_off(path)
        file.seek(0)
        with _opened(kind, file) as image:
            return _pixels(image, kind, path, max_side_px)
    except BROKEN as error:
        if _CUT_OFF.search(str(error)):
            raise _cut_off(path) from error
        detail = " ".join(str(error).split()).rstrip(".")
        raise PictureError(f"{path}: is a damaged {kind}: {detail}", "save it anew") from error


def _is_whole(kind: FileKind, file: BinaryIO) -> bool:
    match kind:
        case FileKind.JPEG:
            return jpeg_is_whole(file)
        case FileKind.PNG:
            return png_is_whole(file)
        case FileKind.WEBP | FileKind.HEIC:
            return ends_in_data(file)
        case _:
            return True


def _opened(kind: FileKind, file: BinaryIO) -> ImageFile.ImageFile:
    """The plugin's own class: one import each, and no limit that cannot be set per call."""
    match kind:
        case FileKind.JPEG:
            from PIL.JpegImagePlugin import JpegImageFile

            return JpegImageFile(file)
        case FileKind.PNG:
            from PIL.PngImagePlugin import PngImageFile

            return PngImageFile(file)
        case FileKind.WEBP:
            from PIL.WebPImagePlugin import WebPImageFile

            return WebPImageFile(file)
        case FileKind.BMP:
            from PIL.BmpImagePlugin import BmpImageFile

            return BmpImageFile(file)
        case FileKind.GIF:
            from PIL.GifImagePlugin import GifImageFile

            return GifImageFile(file)
        case FileKind.PNM:
            from PIL.PpmImagePlugin import PpmImageFile

            return PpmImageFile(file)
        case _:
            return _opened_heic(file)


def _opened_heic(file: BinaryIO) -> ImageFile.ImageFile:
    try:
        from pillow_heif import HeifImageFile
    except ImportError as error:
        raise DependencyMissing("HEIC pictures need pillow-heif", extra("heic")) from error
    opened: Callable[[BinaryIO], ImageFile.ImageFile] = HeifImageFile
    return opened(file)


def _pixels(image: ImageFile.ImageFile, kind: FileKind, path: Path, max_side_px: int) -> U8:
    width, height = image.size
    scale = min(1.0, max_side_px / max(width, height))
    wanted = (max(1, round(width * scale)), max(1, round(height * scale)))
    reducible = kind is FileKind.JPEG and not image.info.get("progressive")
    if reducible:
        limit = MAX_JPEG_PIXELS
    else:
        limit = MAX_WEBP_PIXELS if kind is FileKind.WEBP else MAX_PIXELS
    if width * height > limit:
        raise PictureError(
            f"{path}: is too large ({width}x{height})",
            f"at most {limit // 1_000_000} million pixels in this format",
        )
    if reducible:
        image.draft(None, wanted)
    image.load()
    orientation = _orientation(image)
    upright = _opaque(_plain_mode(image), wanted)
    if orientation in _UPRIGHT:
        upright = upright.transpose(_UPRIGHT[orientation])
    pixels = np.asarray(upright, dtype=np.uint8)
    to_bgr = cv2.COLOR_GRAY2BGR if pixels.ndim == 2 else cv2.COLOR_RGB2BGR
    return np.asarray(cv2.cvtColor(pixels, to_bgr), dtype=np.uint8)


def _plain_mode(image: Image.Image) -> Image.Image:
    """The picture in one of the modes L, RGB and RGBA."""
    if image.mode in {"I", "I;16", "I;16L", "I;16B"}:
        # All of Pillow's readers above give these the range 0..65535.
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode == "RGBA":
        return image
    if image.mode in {"LA", "PA"} or "transparency" in image.info:
        return image.convert("RGBA")
    if image.mode in {"L", "RGB"}:
        return image
    if image.mode == "CMYK" and "adobe" not in image.info:
        # Pillow takes every CMYK JPEG for Adobe's and has inverted it already.
        image = ImageChops.invert(image)
    return image.convert("L" if image.mode == "1" else "RGB")


def _opaque(image: Image.Image, wanted: tuple[int, int]) -> Image.Image:
    """Reduced to `wanted` and, where transparent, laid on mid-grey."""
    if image.size != wanted:
        image = image.resize(wanted, Image.Resampling.BICUBIC, reducing_gap=2.0)
    if image.mode == "RGBA":
        ground = Image.new("RGB", image.size, MID_GREY)
        ground.paste(image, mask=image.getchannel("A"))
        return ground
    return image


def _orientation(image: Image.Image) -> int:
    """The EXIF orientation, 1 where there is none or its block is broken."""
    try:
        value = image.getexif().get(_EXIF_ORIENTATION, 1)
    except BROKEN:
        return 1
    return value if isinstance(value, int) else 1


def _cut_off(path: Path) -> PictureError:
    return PictureError(f"{path}: is cut off or damaged", "copy it again from where it was")
