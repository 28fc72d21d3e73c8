"""From the configuration to an open camera."""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import pytest
from camera_rigs import picture

from edgefaced.camera.choose import open_camera
from edgefaced.camera.v4l2.canned import CannedCamera, CannedFormat, CannedKernel
from edgefaced.config.sections import CameraSection
from edgefaced.errors import CameraError, CameraLost, ConfigError, DependencyMissing


@pytest.fixture
def machine(tmp_path: Path) -> tuple[Path, Path]:
    """A /dev and /sys/class/video4linux with one camera, at number 3."""
    dev, sysfs = tmp_path / "dev", tmp_path / "sys"
    (sysfs / "video3").mkdir(parents=True)
    (sysfs / "video3" / "name").write_text("Door camera\n")
    (sysfs / "video3" / "index").write_text("0\n")
    dev.mkdir()
    (dev / "video3").touch()
    return dev, sysfs


@pytest.mark.parametrize("device", [None, "door"])
def test_a_kernels_camera_is_found_by_its_label_or_as_the_first(
    device: str | None, machine: tuple[Path, Path]
) -> None:
    dev, sysfs = machine
    kernel = CannedKernel()
    kernel.plug_in(str(dev / "video3"), CannedCamera([CannedFormat("NV12", ((1280, 720),))]))
    section = CameraSection(device=device)
    with open_camera(section, kernel=kernel, dev=dev, sysfs=sysfs) as camera:
        assert camera.description.device == str(dev / "video3")
        assert camera.description.differences() == ()


def test_a_camera_that_comes_back_under_another_number_is_found_again(
    machine: tuple[Path, Path],
) -> None:
    dev, sysfs = machine
    kernel, section = CannedKernel(), CameraSection(device="Door camera")
    kernel.plug_in(str(dev / "video3"), CannedCamera())
    camera = open_camera(section, kernel=kernel, dev=dev, sysfs=sysfs)
    kernel.unplug(str(dev / "video3"))
    (sysfs / "video3").rename(sysfs / "gone")
    with pytest.raises(CameraLost):
        camera.next(60.0)
    with pytest.raises(CameraLost, match="no video node"):
        open_camera(section, kernel=kernel, dev=dev, sysfs=sysfs)
    (sysfs / "gone").rename(sysfs / "video4")
    kernel.plug_in(str(dev / "video4"), CannedCamera())
    with open_camera(section, kernel=kernel, dev=dev, sysfs=sysfs) as again:
        assert again.description.device == str(dev / "video4")
    camera.close()


def test_a_folder_of_pictures_is_a_camera(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(cv2.imencode(".png", picture(90, 64, 64))[1].tobytes())
    section = CameraSection(
        kind="replay", replay_paths=(tmp_path,), replay_pace="fast", pixel_format="NV12"
    )
    with open_camera(section) as camera:
        assert camera.description.native == "NV12"
        lease = camera.next(60.0)
        assert lease is not None
        lease.release()


@pytest.mark.parametrize("named", [False, True])
def test_a_replay_of_nothing_names_its_key(tmp_path: Path, named: bool) -> None:
    paths = (tmp_path,) if named else ()
    with pytest.raises(ConfigError, match=r"camera\.replay_paths") as caught:
        open_camera(CameraSection(kind="replay", replay_paths=paths))
    assert (str(tmp_path) if named else "nothing") in str(caught.value)


def test_a_pis_camera_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libcamera", None)
    with pytest.raises(DependencyMissing):
        open_camera(CameraSection(kind="picamera2"))


def test_a_node_that_does_not_exist_is_lost(tmp_path: Path) -> None:
    with pytest.raises(CameraLost, match="video99"):
        open_camera(CameraSection(device="/dev/video99"), sysfs=tmp_path)


def test_the_real_kernel_says_that_a_file_is_no_camera(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    # An emulator of programs (qemu-user) has no such call at all.
    says = "asking what it is: (Inappropriate ioctl|Function not implemented)"
    with pytest.raises(CameraError, match=says):
        open_camera(CameraSection(device=str(tmp_path / "file")))
