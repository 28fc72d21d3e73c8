"""A canned V4L2 camera in a machine of the test's own, which shows pictures at its own pace."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from edgefaced.camera.choose import open_camera
from edgefaced.camera.convert import planes_of
from edgefaced.camera.v4l2.canned import CannedCamera, CannedFormat, CannedKernel
from edgefaced.config.sections import CameraSection
from edgefaced.protocols import Camera
from edgefaced.types import U8, PixelFormat

LABEL = "Door camera"
SIZE = (200, 120)
PERIOD_SECONDS = 0.005


class Machine:
    """A /dev and a /sys/class/video4linux with one camera, which can be moved from node to node."""

    def __init__(
        self, folder: Path, fourcc: str = "BGR3", kernel: CannedKernel | None = None
    ) -> None:
        self.dev, self.sysfs = folder / "dev", folder / "sys"
        self.dev.mkdir(parents=True)
        self.sysfs.mkdir()
        self.kernel = kernel or CannedKernel()
        self._fourcc = fourcc
        self.plug_in(0)

    def plug_in(self, number: int) -> None:
        """A camera of the same label at a node; the one of before must be gone."""
        self._number = number
        node = self.sysfs / f"video{number}"
        node.mkdir()
        (node / "name").write_text(f"{LABEL}\n")
        (node / "index").write_text("0\n")
        (self.dev / node.name).touch()
        self.camera = CannedCamera([CannedFormat(self._fourcc, (SIZE,))])
        self.kernel.plug_in(str(self.dev / node.name), self.camera)

    def unplug(self) -> None:
        node = self.sysfs / f"video{self._number}"
        for file in node.iterdir():
            file.unlink()
        node.rmdir()
        (self.dev / node.name).unlink()
        self.kernel.unplug(str(self.dev / node.name))

    def open(self) -> Camera:
        """As the daemon opens it, by its label."""
        section = CameraSection(device=LABEL, width_px=SIZE[0], height_px=SIZE[1])
        return open_camera(section, kernel=self.kernel, dev=self.dev, sysfs=self.sysfs)

    @contextmanager
    def showing(self, picture: Callable[[int], U8 | bytes]) -> Iterator[None]:
        """Exposes one picture after another meanwhile; `picture` gets a running number."""
        over = threading.Event()

        def expose() -> None:
            number = 0
            while not over.wait(PERIOD_SECONDS):
                shown = picture(number)
                number += 1
                self.camera.expose(
                    shown if isinstance(shown, bytes) else planes_of(shown, PixelFormat.BGR)
                )

        thread = threading.Thread(target=expose)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
