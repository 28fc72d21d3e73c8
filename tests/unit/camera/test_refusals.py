"""What the kernel refuses becomes a CameraError, and nothing of it stays behind."""

from __future__ import annotations

import errno
import gc
import weakref
from contextlib import suppress

import pytest

from edgefaced.camera.v4l2.faults import spoken
from edgefaced.errors import CameraBusy, CameraError, CameraLost


class Refusal(OSError):
    """One whose end can be seen."""


def refusal(number: int, watched: list[weakref.ref[Refusal]]) -> Refusal:
    """A new one, which only whoever raises it knows."""
    new = Refusal(number, "no")
    watched.append(weakref.ref(new))
    return new


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENODEV, CameraLost),
        (errno.EBUSY, CameraBusy),
        (errno.EACCES, CameraError),
        (errno.EIO, CameraError),
    ],
)
def test_a_refusal_is_gone_with_the_error_that_it_became(
    number: int, kind: type[CameraError]
) -> None:
    watched: list[weakref.ref[Refusal]] = []
    gc.disable()  # a frame of a camera that is gone may not wait for the collector
    try:
        with suppress(kind), spoken("/dev/video0", "reading", lambda _: ["cheese (7)"]):
            raise refusal(number, watched)
        assert watched.pop()() is None
    finally:
        gc.enable()


def test_what_is_no_refusal_passes() -> None:
    with pytest.raises(ZeroDivisionError), spoken("/dev/video0", "reading", lambda _: []):
        _ = 1 / 0
