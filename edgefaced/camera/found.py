"""The cameras of this machine, by names that stay theirs, for somebody who is asked for one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from edgefaced.camera.picamera2_open import import_library
from edgefaced.camera.v4l2.kernel import Kernel, LinuxKernel
from edgefaced.camera.v4l2.names import Node, nodes
from edgefaced.camera.v4l2.search import is_camera
from edgefaced.errors import DependencyMissing

DEV, SYSFS = Path("/dev"), Path("/sys/class/video4linux")


@dataclass(frozen=True, slots=True)
class FoundCamera:
    """`device` is what `camera.device` is set to."""

    kind: Literal["v4l2", "picamera2"]
    device: str
    label: str


def found_cameras(
    kernel: Kernel | None = None, *, dev: Path = DEV, sysfs: Path = SYSFS, pi: Any = None
) -> tuple[FoundCamera, ...]:
    """A Raspberry Pi's own first, then V4L2's; `pi` stands for the module picamera2."""
    known = nodes(dev=dev, sysfs=sysfs)
    named = [
        FoundCamera("v4l2", _lasting_name(node, known, dev), node.label)
        for node in known
        if _is_one(kernel or LinuxKernel(), node)
    ]
    return (*_of_a_pi(pi), *named)


def _is_one(kernel: Kernel, node: Node) -> bool:
    try:
        return is_camera(kernel, str(node.path))
    except PermissionError:
        return node.index == 0  # the service may have what this user has not
    except OSError:
        return False


def _lasting_name(node: Node, known: Sequence[Node], dev: Path) -> str:
    """A name of by-id or by-path, else the label, else the node, which renumbering may move."""
    for folder in ("by-id", "by-path"):
        for link in sorted((dev / "v4l" / folder).glob("*")):
            if link.resolve() == node.path.resolve():
                return link.name
    # A part of a label is enough to find a camera by: it must be no other's.
    alike = [n for n in known if n.index == 0 and node.label.casefold() in n.label.casefold()]
    return node.label if node.label and alike == [node] else str(node.path)


def _of_a_pi(library: Any) -> tuple[FoundCamera, ...]:
    if library is None:
        if find_spec("picamera2") is None:
            return ()
        try:
            library, _ = import_library()
        except DependencyMissing:
            return ()
    # libcamera lists USB cameras as well; V4L2 reads those without it.
    own = [info for info in library.Picamera2.global_camera_info() if "usb" not in info["Id"]]
    models = Counter(info.get("Model") for info in own)
    return tuple(
        FoundCamera(
            "picamera2",
            str(info["Model"] if models[info.get("Model")] == 1 else info["Id"]),
            str(info.get("Model", "camera")),
        )
        for info in own
    )
