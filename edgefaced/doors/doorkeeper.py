"""The doors' sink: every decision once, as soon as it is recorded, and never again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from edgefaced.core.access import Rights
from edgefaced.doors.house import House
from edgefaced.errors import EdgefacedError, GalleryMissing
from edgefaced.events import Event
from edgefaced.gallery.access import rights_of
from edgefaced.gallery.store import Gallery


class GalleryRights:
    """Looks up what people may do; opens the gallery at the first look, in the looking thread."""

    def __init__(self, gallery_file: Path, key_file: Path) -> None:
        self._places = gallery_file, key_file
        self._gallery: Gallery | None = None

    def of(self, person_id: str) -> Rights | None:
        """None where they cannot be read: then nothing is allowed. Who is unknown has no rights.

        A gallery that was exchanged or removed meanwhile is noticed, and the one that is there now
        is asked.
        """
        fresh = self._gallery is None
        try:
            if self._gallery is None:
                self._gallery = Gallery.open(*self._places)
            self._gallery.version()
            return rights_of(self._gallery, person_id)
        except GalleryMissing:
            return Rights()
        except EdgefacedError:
            self.close()
            return None if fresh else self.of(person_id)

    def close(self) -> None:
        if self._gallery is not None:
            self._gallery.close()
            self._gallery = None


class Doorkeeper:
    """Hands each event to the house."""

    def __init__(self, house: House, rights: GalleryRights, end: Callable[[], None]) -> None:
        """`end` is called when no more events will come."""
        self._house = house
        self._rights = rights
        self._end = end

    def emit(self, event: Event) -> None:
        """Never waits for a lock; what came of it is announced."""
        self._house.decide(event, self._rights.of)

    def close(self) -> None:
        self._rights.close()
        self._end()
