"""The first node that is a camera, for a configuration that names none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgefaced.camera.v4l2.choice import WIRES
from edgefaced.camera.v4l2.faults import Holders, camera_error
from edgefaced.camera.v4l2.kernel import Kernel
from edgefaced.camera.v4l2.names import Node
from edgefaced.camera.v4l2.offers import identify, offers
from edgefaced.errors import CameraError, CameraLost
from edgefaced.protocols import CameraWish


def first_camera(kernel: Kernel, known: Sequence[Node], holders: Holders) -> Path:
    """The first of `known` with a format that is read here; codecs and metadata are passed over.

    Raises CameraLost where there is none, and the refusal where one could not be asked.
    """
    refused: CameraError | None = None
    for node in known:
        try:
            if is_camera(kernel, str(node.path)):
                return node.path
        except OSError as error:
            refused = refused or camera_error(error, str(node.path), "opening", holders)
    raise refused or CameraLost("no camera found", "is it plugged in? `v4l2-ctl --list-devices`")


def is_camera(kernel: Kernel, path: str) -> bool:
    """Whether a node gives pictures in a format that is read here. Raises OSError."""
    fd = kernel.open(path)
    try:
        kind = identify(kernel, fd).buffer_type
        found = () if kind is None else offers(kernel, fd, kind, CameraWish())
        return any(offer.fourcc in WIRES for offer in found)
    finally:
        kernel.close(fd)
