"""The camera that the configuration names, opened."""

from __future__ import annotations

from pathlib import Path

from edgefaced.camera.picamera2_open import import_library, open_picamera2
from edgefaced.camera.replay import open_replay
from edgefaced.camera.v4l2.device import open_v4l2
from edgefaced.camera.v4l2.faults import who_holds
from edgefaced.camera.v4l2.kernel import Kernel, LinuxKernel
from edgefaced.camera.v4l2.names import find_node, nodes
from edgefaced.camera.v4l2.search import first_camera
from edgefaced.config.sections import CameraSection
from edgefaced.errors import ConfigError
from edgefaced.pictures.find import find_pictures
from edgefaced.protocols import Camera, CameraWish

DEV, SYSFS = Path("/dev"), Path("/sys/class/video4linux")


def open_camera(
    section: CameraSection,
    *,
    kernel: Kernel | None = None,
    dev: Path = DEV,
    sysfs: Path = SYSFS,
) -> Camera:
    """Opens and starts it. A name is looked up anew each time: a camera that came back is found.

    Raises CameraBusy, CameraLost, CameraError; ConfigError or PictureError for a replay of nothing
    or of a damaged file; DependencyMissing for picamera2.
    """
    wish = CameraWish(
        width=section.width_px,
        height=section.height_px,
        frames_per_second=section.frames_per_second,
        pixel_format=section.pixel_format,
    )
    match section.kind:
        case "replay":
            return _open_replay(section, wish)
        case "picamera2":
            return open_picamera2(section.device, wish, buffers=section.buffers)
        case "v4l2":
            kernel = kernel or LinuxKernel()
            if section.device is None:
                node = first_camera(kernel, nodes(dev=dev, sysfs=sysfs), who_holds)
            else:
                node = find_node(section.device, dev=dev, sysfs=sysfs)
            return open_v4l2(node, wish, buffers=section.buffers, kernel=kernel)


def check_camera(section: CameraSection) -> None:
    """Says before anything starts what opening it again and again would not mend.

    Raises ConfigError for a replay of nothing, DependencyMissing for picamera2.
    """
    match section.kind:
        case "replay":
            _replayed(section)
        case "picamera2":
            import_library()


def _open_replay(section: CameraSection, wish: CameraWish) -> Camera:
    paths = _replayed(section)
    return open_replay(
        paths,
        wish,
        pace=section.replay_pace,
        loop=section.replay_loop,
        picture_seconds=section.replay_picture_seconds,
        buffers=section.buffers,
    )


def _replayed(section: CameraSection) -> list[Path]:
    paths = find_pictures(section.replay_paths, videos=True)
    if not paths:
        named = ", ".join(str(path) for path in section.replay_paths) or "nothing"
        raise ConfigError(
            f"camera.replay_paths = {named}: holds no picture and no video",
            "name pictures, videos or folders of them",
        )
    return paths
