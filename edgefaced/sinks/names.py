"""Names for sinks that may know them, from a gallery connection of the sink's own thread."""

from __future__ import annotations

from pathlib import Path

from edgefaced.errors import EdgefacedError
from edgefaced.gallery.store import Gallery


class GalleryNames:
    """Looks up names; opens the gallery at the first look, in the thread that looks."""

    def __init__(self, gallery_file: Path, key_file: Path) -> None:
        self._places = gallery_file, key_file
        self._gallery: Gallery | None = None

    def name_of(self, person_id: str) -> str | None:
        """None where the person is not (or no longer) enrolled or the gallery cannot be read."""
        try:
            if self._gallery is None:
                self._gallery = Gallery.open(*self._places)
            return self._gallery.name_of(person_id)
        except EdgefacedError:
            return None

    def close(self) -> None:
        if self._gallery is not None:
            self._gallery.close()
