"""The cameras that somebody may choose from, by names that last."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from edgefaced.camera.found import FoundCamera, found_cameras
from edgefaced.camera.v4l2.canned import CannedCamera, CannedFormat, CannedKernel
from edgefaced.camera.v4l2.names import find_node

YUYV = CannedFormat("YUYV", ((640, 480),))


class ShutKernel(CannedKernel):
    """Some nodes are not this user's to open."""

    def __init__(self) -> None:
        super().__init__()
        self.shut: set[str] = set()

    def open(self, path: str) -> int:
        if path in self.shut:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return super().open(path)


class Machine:
    def __init__(self, folder: Path) -> None:
        self.dev, self.sysfs, self.kernel = folder / "dev", folder / "sys", ShutKernel()
        self.dev.mkdir()

    def plug_in(self, number: int, label: str, *formats: CannedFormat, index: int = 0) -> str:
        folder = self.sysfs / f"video{number}"
        folder.mkdir(parents=True)
        (folder / "name").write_text(label + "\n")
        (folder / "index").write_text(f"{index}\n")
        node = self.dev / f"video{number}"
        node.touch()
        if formats:
            self.kernel.plug_in(str(node), CannedCamera(list(formats)))
        return str(node)

    def link(self, folder: str, name: str, number: int) -> None:
        link = self.dev / "v4l" / folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../video{number}")

    def found(self, pi: Any = None) -> tuple[FoundCamera, ...]:
        return found_cameras(self.kernel, dev=self.dev, sysfs=self.sysfs, pi=pi)


def test_each_is_named_by_what_lasts_longest(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for number, label in ((0, "twin"), (1, "twin"), (2, "twin"), (3, "alone")):
        machine.plug_in(number, label, YUYV)
    machine.plug_in(4, "a codec", CannedFormat("H264", ((640, 480),)))
    machine.plug_in(5, "unplugged at this moment")
    machine.link("by-id", "usb-twin-video-index0", 0)
    machine.link("by-path", "pci-1-video-index0", 0)
    machine.link("by-path", "pci-2-video-index0", 1)
    assert machine.found() == (
        FoundCamera("v4l2", "usb-twin-video-index0", "twin"),
        FoundCamera("v4l2", "pci-2-video-index0", "twin"),
        FoundCamera("v4l2", str(machine.dev / "video2"), "twin"),
        FoundCamera("v4l2", "alone", "alone"),
    )
    for number, camera in enumerate(machine.found()):
        node = find_node(camera.device, dev=machine.dev, sysfs=machine.sysfs)
        assert node.resolve() == machine.dev / f"video{number}"


def test_one_that_only_the_service_may_open_is_there(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.kernel.shut.add(machine.plug_in(0, "shut", YUYV))
    machine.kernel.shut.add(machine.plug_in(1, "shut", YUYV, index=1))
    assert [camera.device for camera in machine.found()] == ["shut"]


class Library:
    """picamera2, as far as it is asked for cameras."""

    def __init__(self, *cameras: tuple[str, str]) -> None:
        self._cameras = [{"Model": model, "Id": where} for model, where in cameras]

    @property
    def Picamera2(self) -> Library:
        return self

    def global_camera_info(self) -> list[dict[str, str]]:
        return self._cameras


def test_a_pis_own_cameras_come_first_and_usb_is_not_said_twice(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.plug_in(0, "C920", YUYV)
    library = Library(("imx708", "/i2c@1/imx708"), ("C920", "/usb@2-1:1.0-046d"))
    assert machine.found(library) == (
        FoundCamera("picamera2", "imx708", "imx708"),
        FoundCamera("v4l2", "C920", "C920"),
    )
    twins = Library(("imx708", "/i2c@1/imx708"), ("imx708", "/i2c@2/imx708"))
    assert [camera.device for camera in machine.found(twins)][:2] == [
        "/i2c@1/imx708",
        "/i2c@2/imx708",
    ]
