"""Finding, configuring and starting a Raspberry Pi's camera through picamera2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from edgefaced.camera.layout import Layout
from edgefaced.camera.picamera2 import Picamera2Camera, spoken
from edgefaced.errors import CameraError, CameraLost, DependencyMissing
from edgefaced.protocols import Camera, CameraDescription, CameraWish
from edgefaced.types import PixelFormat

NAMES = {
    # Named by the order in a little-endian word: "RGB888" is B, G, R in memory.
    PixelFormat.BGR: "RGB888",
    PixelFormat.RGB: "BGR888",
    PixelFormat.I420: "YUV420",
    PixelFormat.NV12: "NV12",
    PixelFormat.YUYV: "YUYV",
}
SMALL_WIDTH = 640
"""Of the stream for detection; a main stream that is no wider needs no second one."""
FEWEST_BUFFERS = 6
"""Three on loan, and the sensor's own pipeline holds as many."""


def open_picamera2(
    device: str | None,
    wish: CameraWish,
    *,
    buffers: int,
    library: Any = None,
    colours: Any = None,
) -> Camera:
    """Opens and starts a camera by a part of its id or model; the first one where None.

    `library` is the module picamera2 and `colours` a colour space of libcamera, imported where
    absent. Raises DependencyMissing, CameraBusy, CameraLost or CameraError, with nothing open.
    """
    if library is None:
        library, colours = import_library()
    known = library.Picamera2.global_camera_info
    number, info = _find(known(), device)
    address = str(info["Id"])
    with ExitStack() as undo:
        with spoken(address, "opening"):
            camera = library.Picamera2(number)
            undo.callback(camera.close)
        with spoken(address, "setting the format"):
            camera.configure(_configuration(camera, wish, buffers, colours))
            agreed = camera.camera_configuration()
        main = _layout(address, agreed["main"])
        small = _layout(address, agreed["lores"]) if agreed["lores"] else None
        with spoken(address, "starting"):
            camera.start()
        description = CameraDescription(
            name=str(info.get("Model", "camera")),
            device=address,
            width=main.width,
            height=main.height,
            pixel_format=main.pixel_format,
            native=main.pixel_format.value,
            frames_per_second=_rate(agreed["controls"]),
            buffers=int(agreed["buffer_count"]),
            dma=True,
            wish=wish,
        )
        opened = Picamera2Camera(camera, known, description, main, small)
        undo.pop_all()
    return opened


def small_size(width: int, height: int) -> tuple[int, int] | None:
    """Size of the stream for detection: the same shape, even sides; None where one is enough."""
    if width <= SMALL_WIDTH:
        return None
    return SMALL_WIDTH, round(SMALL_WIDTH * height / width / 2) * 2


def import_library() -> tuple[Any, Any]:
    """The module picamera2, and the colours that a Frame's are. Raises DependencyMissing."""
    try:
        import libcamera
        import picamera2
    except ImportError as error:
        raise DependencyMissing(
            f'camera kind "picamera2": {error}',
            "sudo apt install python3-picamera2, in a venv with --system-site-packages",
        ) from error
    # Limited-range BT.601.
    return picamera2, libcamera.ColorSpace.Smpte170m()


def _find(known: Sequence[Mapping[str, Any]], device: str | None) -> tuple[int, Mapping[str, Any]]:
    listed = ", ".join(f"{info.get('Model')} {info['Id']}" for info in known)
    found = [
        (number, info)
        for number, info in enumerate(known)
        if device is None or device.casefold() in f"{info.get('Model')} {info['Id']}".casefold()
    ]
    if not found:
        raise CameraLost(
            f"camera {device!r} is not there" if device else "no camera found",
            f"present: {listed}" if listed else "is the ribbon cable in? `rpicam-hello` tells",
        )
    if device is not None and len(found) > 1:
        raise CameraError(f"camera {device!r}: several cameras have this name: {listed}")
    return found[0]


def _configuration(camera: Any, wish: CameraWish, buffers: int, colours: Any) -> Any:
    """No queue: a frame is never older than the question. No raw stream: it costs memory only."""
    width, height = wish.size()
    known = {pixel_format.value: name for pixel_format, name in NAMES.items()}
    wished = known.get(wish.pixel_format or "", NAMES[PixelFormat.BGR])
    # libcamera also has cameras of one stream (USB ones); asked for two, the library breaks down.
    small = small_size(width, height) if len(camera.camera.streams) > 1 else None
    controls = {}
    if wish.frames_per_second is not None and "FrameDurationLimits" in camera.camera_controls:
        duration_us = round(1_000_000 / wish.frames_per_second)
        controls["FrameDurationLimits"] = (duration_us, duration_us)
    return camera.create_video_configuration(
        main={"format": wished, "size": (width, height)},
        lores=None if small is None else {"format": NAMES[PixelFormat.I420], "size": small},
        raw=None,
        colour_space=colours,
        buffer_count=max(buffers, FEWEST_BUFFERS),
        queue=False,
        controls=controls,
        display=None,
        encode=None,
    )


def _layout(address: str, stream: Mapping[str, Any]) -> Layout:
    formats = {name: pixel_format for pixel_format, name in NAMES.items()}
    width, height = stream["size"]
    if stream["format"] not in formats:
        raise CameraError(f"{address}: insists on {stream['format']}, which cannot be read")
    return Layout(formats[stream["format"]], width, height, stream["stride"])


def _rate(controls: Mapping[str, Any]) -> float | None:
    limits = controls.get("FrameDurationLimits")
    return 1_000_000 / limits[1] if limits else None
