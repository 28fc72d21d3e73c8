"""Which camera doors go by: the one that was there when they were set up, and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from edgefaced.doors.book import Book
from edgefaced.errors import Refused, StorageError


class TrustedCamera:
    """Used under the lock of the house that it belongs to."""

    def __init__(self, book: Book, configured: str) -> None:
        """`configured` is what the configuration calls the camera."""
        self._book = book
        self._configured = configured
        self._found: Callable[[], str | None] = _no_camera
        self._say: Callable[[str], None] = _nobody_hears
        self._told = ""

    def connect(self, found: Callable[[], str | None], say: Callable[[str], None]) -> None:
        """How to ask which camera is open (its own name for itself), and where to say trouble."""
        self._found, self._say = found, say

    def is_there(self, configured: str) -> bool:
        """Whether the open camera is the one that was first seen; told once if not."""
        found, page = self._found(), self._book.page
        if found is None or page.everything:
            return False
        right = page.camera(configured)
        if right is None and not page.forgotten:
            try:
                self._book.write(replace(page, cameras=(*page.cameras, (configured, found))))
            except StorageError as error:
                self._say(error.message)
            return True
        if found != right and found != self._told:
            self._told = found
            was = "which one it was is not known any more" if right is None else f"was {right!r}"
            self._say(
                f"the camera is {found!r} and {was}: no door opens for a face "
                "(`edgefaced doors trust-camera` accepts it)"
            )
        return found == right

    def trust(self, by: str) -> None:
        """Takes the camera that is there now for the right one. Raises Refused or StorageError."""
        found, page = self._found(), self._book.page
        if page.everything:
            raise Refused("the doors' book is lost", "`edgefaced doors normal` first")
        if found is None:
            raise Refused("no camera has been opened yet", "`edgefaced status` says how it is")
        self._say(f"the camera {found!r} is trusted from now on, {by}")
        self._told = ""
        # Noted by name, for otherwise whichever came next would be the right one.
        known = dict(page.cameras) | {self._configured: found}
        cameras = tuple((configured, found) for configured in known)
        self._book.keep(replace(page, cameras=cameras, forgotten=False))


def _no_camera() -> str | None:
    return None


def _nobody_hears(said: str) -> None:
    """Before the house is connected."""
