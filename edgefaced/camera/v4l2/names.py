"""From the name a person gives a camera to its node; names survive renumbering, nodes do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import CameraError, CameraLost


@dataclass(frozen=True, slots=True)
class Node:
    """A video node and the label its driver gives it; a camera's picture is its `index` 0."""

    path: Path
    label: str
    index: int


def find_node(
    device: str, *, dev: Path = Path("/dev"), sysfs: Path = Path("/sys/class/video4linux")
) -> Path:
    """The node of a path, of a name in /dev/v4l/by-id or by-path, or of a part of one label.

    Raises CameraLost where there is none, CameraError where several labels match.
    """
    if device.startswith("/"):
        if not Path(device).exists():
            raise _none(device, nodes(dev=dev, sysfs=sysfs))
        return Path(device)
    for folder in ("by-id", "by-path"):
        link = dev / "v4l" / folder / device
        if "/" not in device and link.exists():
            return link
    known = nodes(dev=dev, sysfs=sysfs)
    wanted = device.casefold()
    found = [n for n in known if n.index == 0 and wanted in n.label.casefold()]
    if not found:
        raise _none(device, known)
    if len(found) > 1:
        raise CameraError(
            f"camera {device!r}: {len(found)} cameras have this label: {_listed(found)}",
            "a name from /dev/v4l/by-path tells them apart",
        )
    return found[0].path


def nodes(*, dev: Path, sysfs: Path) -> tuple[Node, ...]:
    """The video nodes of this machine, by number."""
    folders = [f for f in sysfs.glob("video*") if f.name.removeprefix("video").isdecimal()]
    found = []
    for folder in sorted(folders, key=lambda f: int(f.name.removeprefix("video"))):
        index = _read(folder / "index")
        number = int(index) if index.isdecimal() else 0
        found.append(Node(dev / folder.name, _read(folder / "name"), number))
    return tuple(found)


def _read(attribute: Path) -> str:
    try:
        return attribute.read_text(errors="replace").strip()
    except OSError:
        return ""


def _none(device: str, known: Sequence[Node]) -> CameraLost:
    seen = _listed([n for n in known if n.index == 0])
    return CameraLost(
        f"camera {device!r} is not there",
        f"present: {seen}" if seen else "this machine has no video node",
    )


def _listed(found: Sequence[Node]) -> str:
    return ", ".join(f"{n.path} {n.label!r}" for n in found)
