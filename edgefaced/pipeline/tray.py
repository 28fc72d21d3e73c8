"""Pictures on their way from the frame to whoever keeps them: the few newest, and only on request.

The detecting stage makes them inside the lease, the recognising one lays down that of a frame on
which something was decided, and the keeper takes it when the event comes. Nobody is waited for.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from edgefaced.core.portrait import around, bytes_reduced, reduced
from edgefaced.events import Happening
from edgefaced.types import U8, Box, Frame

CAPACITY = 8
"""A picture of a whole frame may have 2 MB."""


@dataclass(frozen=True, slots=True)
class PictureWish:
    """What is to be in a picture, the `whole` frame or one face, and how large it may be."""

    whole: bool
    longest_px: int


@dataclass(frozen=True, slots=True, eq=False)
class TakenPicture:
    """A picture (height, width, 3) in B, G, R of the frame on which a face was decided."""

    track_id: int
    captured_ns: int
    pixels: U8


class Tray:
    """Without a wish no picture is ever made; any thread may ask."""

    def __init__(self, wish: PictureWish | None) -> None:
        self.wish = wish
        self.announce: Callable[[Happening], None] = _nobody_hears
        """Where the line tells what happened; set before anything runs."""
        self._lock = threading.Lock()
        self._taken: deque[TakenPicture] = deque(maxlen=CAPACITY)
        self._laid = 0.0
        self.kept = self.kept_bytes = self.missed = 0
        """Pictures that are kept now, and those that could not be; written by the keeper."""
        self.fault = ""
        """Why none can be kept at the moment; empty while all is well."""

    def take(self, frame: Frame, faces: tuple[Box, ...]) -> tuple[tuple[U8 | None, ...], int]:
        """A picture for each face of a frame, inside its lease, and how many bytes that wrote."""
        wish = self.wish
        if wish is None or not faces:
            return (None,) * len(faces), 0
        parts = [frame] if wish.whole else [around(frame, face) for face in faces]
        pictures = [reduced(part, wish.longest_px) for part in parts]
        written = sum(bytes_reduced(part, wish.longest_px) for part in parts)
        return tuple(pictures * len(faces) if wish.whole else pictures), written

    def lay_down(self, picture: TakenPicture) -> None:
        """Never blocks; the oldest makes room."""
        with self._lock:
            self._laid = time.monotonic()
            self._taken.append(picture)

    def find(self, track_id: int, captured_ns: int | None = None) -> TakenPicture | None:
        """The newest of a face, or that of one frame; None where it was too slow for it."""
        with self._lock:
            return next(
                (
                    taken
                    for taken in reversed(self._taken)
                    if taken.track_id == track_id and captured_ns in (None, taken.captured_ns)
                ),
                None,
            )

    def clear_after(self, seconds: float) -> None:
        """Forgets what was laid down so long ago."""
        with self._lock:
            if time.monotonic() - self._laid >= seconds:
                self._taken.clear()


def _nobody_hears(happening: Happening) -> None:
    """Before the line is made."""
