"""From a person's name for a camera to its node, on a small /dev and /sys of the test's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from edgefaced.camera.v4l2.canned import CannedCamera, CannedFormat, CannedKernel
from edgefaced.camera.v4l2.faults import who_holds
from edgefaced.camera.v4l2.names import find_node, nodes
from edgefaced.camera.v4l2.search import first_camera
from edgefaced.errors import CameraBusy, CameraError, CameraLost

CAMERAS = {
    "video0": ("HD Pro Webcam C920", "0"),
    "video1": ("HD Pro Webcam C920", "1"),
    "video2": ("rkisp_mainpath", "0"),
    "video10": ("USB Camera: Türkamera", "0"),
    "video11": ("USB Camera: back", "0"),
    "v4l-subdev0": ("imx415 4-001a", "0"),
}


@pytest.fixture
def machine(tmp_path: Path) -> tuple[Path, Path]:
    """/dev and /sys/class/video4linux."""
    dev, sysfs = tmp_path / "dev", tmp_path / "sys"
    for name, (label, index) in CAMERAS.items():
        (sysfs / name).mkdir(parents=True)
        (sysfs / name / "name").write_text(label + "\n")
        (sysfs / name / "index").write_text(index + "\n")
        dev.mkdir(exist_ok=True)
        (dev / name).touch()
    for folder, link in (("by-id", "usb-046d_C920-video-index0"), ("by-path", "platform-rkisp")):
        (dev / "v4l" / folder).mkdir(parents=True)
        (dev / "v4l" / folder / link).symlink_to("../../video0")
    return dev, sysfs


def found(device: str, machine: tuple[Path, Path]) -> str:
    dev, sysfs = machine
    return str(find_node(device, dev=dev, sysfs=sysfs).relative_to(dev))


@pytest.mark.parametrize(
    ("device", "node"),
    [
        ("usb-046d_C920-video-index0", "v4l/by-id/usb-046d_C920-video-index0"),
        ("platform-rkisp", "v4l/by-path/platform-rkisp"),
        ("C920", "video0"),
        ("hd pro", "video0"),
        ("MAINPATH", "video2"),
        ("türkamera", "video10"),
        ("camera: back", "video11"),
    ],
)
def test_names_lead_to_the_node_with_the_picture(
    device: str, node: str, machine: tuple[Path, Path]
) -> None:
    assert found(device, machine) == node


def test_a_path_is_taken_as_it_is(machine: tuple[Path, Path]) -> None:
    dev, _ = machine
    link = dev / "v4l" / "by-id" / "usb-046d_C920-video-index0"
    assert dev / found(str(link), machine) == link


@pytest.mark.parametrize("device", ["/dev/video99", "Brio", "../video0", "imx415", "by-id", "é/é"])
def test_what_is_not_there_is_said_with_what_is(device: str, machine: tuple[Path, Path]) -> None:
    with pytest.raises(CameraLost, match=r"is not there.*HD Pro Webcam C920.*rkisp") as caught:
        found(device, machine)
    assert device in caught.value.message


def test_a_machine_without_cameras_says_so(tmp_path: Path) -> None:
    with pytest.raises(CameraLost, match="no video node"):
        find_node("C920", dev=tmp_path, sysfs=tmp_path / "absent")


def test_a_label_that_several_have_is_not_guessed(machine: tuple[Path, Path]) -> None:
    with pytest.raises(CameraError, match=r"2 cameras.*video10.*video11.*by-path"):
        found("USB Camera", machine)


def test_nodes_come_by_number_and_may_lack_their_attributes(machine: tuple[Path, Path]) -> None:
    dev, sysfs = machine
    (sysfs / "video2" / "name").unlink()
    (sysfs / "video2" / "index").unlink()
    known = nodes(dev=dev, sysfs=sysfs)
    assert [node.path.name for node in known] == [
        "video0",
        "video1",
        "video2",
        "video10",
        "video11",
    ]
    assert (known[2].label, known[2].index) == ("", 0)


def test_the_first_camera_is_the_first_with_a_picture_that_is_read(
    machine: tuple[Path, Path],
) -> None:
    dev, sysfs = machine
    kernel = CannedKernel()
    known = nodes(dev=dev, sysfs=sysfs)
    kernel.plug_in(str(dev / "video1"), CannedCamera([CannedFormat("H264")]))
    refused = CannedCamera()
    refused.forbidden = True
    kernel.plug_in(str(dev / "video2"), refused)
    with pytest.raises(CameraLost, match="video0"):
        first_camera(kernel, known, lambda device: ())
    with pytest.raises(CameraError, match=r"video2.*Permission"):
        first_camera(kernel, known[2:], lambda device: ())
    camera = CannedCamera()
    kernel.plug_in(str(dev / "video10"), camera)
    assert first_camera(kernel, known, lambda device: ()) == dev / "video10"
    assert camera.users == 0
    with pytest.raises(CameraLost, match="no camera found"):
        first_camera(kernel, [], lambda device: ())


def test_who_holds_a_node_is_found_in_proc() -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", "f = open('/dev/full'); print('open', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with Path("/dev/full").open():  # this process is not told about itself
            assert any(name.endswith(f"({holder.pid})") for name in who_holds("/dev/full"))
        holder.communicate(b"\n")
    assert not any(name.endswith(f"({holder.pid})") for name in who_holds("/dev/full"))


def test_nobody_holds_what_is_no_device(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert who_holds(str(tmp_path / "file")) == ()
    assert who_holds(str(tmp_path / "absent")) == ()
    process = tmp_path / "proc" / "4000000"
    process.mkdir(parents=True)  # ended between two looks: no "fd" any more
    assert who_holds("/dev/full", proc=tmp_path / "proc") == ()
    (process / "fd").mkdir()
    (process / "fd" / "3").symlink_to(tmp_path / "gone")
    (process / "fd" / "4").symlink_to("/dev/full")
    (process / "comm").write_text("cheese\n")
    assert who_holds("/dev/full", proc=tmp_path / "proc") == ("cheese (4000000)",)


def test_a_busy_camera_is_another_error_than_a_lost_one() -> None:
    assert CameraBusy("x").retryable
    assert CameraLost("x").retryable
    assert {CameraBusy("x").exit_code, CameraLost("x").exit_code} == {10}
