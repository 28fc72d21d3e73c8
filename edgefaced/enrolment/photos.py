"""Which pictures in a folder are a person's: the ones a table names, or the ones named like them.

Ann Smith (external id A-17) has the folder or file "Ann Smith", "ann_smith.jpg", "A-17.png", or
files with a number behind the name: "Ann Smith 2.jpg", "Ann_Smith_0001.jpg".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from edgefaced.enrolment.roster import Entrant
from edgefaced.errors import PictureError, StorageError
from edgefaced.gallery.names import lookup_form
from edgefaced.pictures.find import PICTURE_SUFFIXES, find_pictures

_NUMBER = re.compile(r"[\s_.-]*\(?\d+\)?$")


class PhotoFolder:
    """One folder, listed once; nothing outside it is ever named."""

    def __init__(self, folder: Path) -> None:
        """Raises StorageError for a folder that cannot be read."""
        self._folder = folder
        try:
            entries = sorted(entry for entry in folder.iterdir() if entry.name[0] != ".")
            self._root = folder.resolve()
        except OSError as error:
            raise StorageError(
                f"{folder}: {error.strerror}", "the folder of photos must be readable"
            ) from error
        self._exact: dict[str, list[Path]] = {}
        self._numbered: dict[str, list[Path]] = {}
        for entry in entries:
            is_folder = entry.is_dir()
            if not is_folder and entry.suffix.lower() not in PICTURE_SUFFIXES:
                continue
            stem = entry.name if is_folder else entry.stem
            self._exact.setdefault(_form(stem), []).append(entry)
            if not is_folder and (number := _NUMBER.search(stem)):
                self._numbered.setdefault(_form(stem[: number.start()]), []).append(entry)

    def pictures_of(self, entrant: Entrant) -> list[Path]:
        """The person's pictures, at least one. Raises PictureError where there are none."""
        found = find_pictures(
            [self._inside(photo) for photo in entrant.photos]
            if entrant.photos
            else self._named_like(entrant)
        )
        if not found:
            raise PictureError(f"no photo of {entrant.name} in {self._folder}")
        return found

    def _inside(self, photo: str) -> Path:
        path = self._folder / photo
        if not path.resolve().is_relative_to(self._root):
            raise PictureError(
                f"{photo} lies outside {self._folder}", "a table names its own photos"
            )
        if not path.exists():
            raise PictureError(f"{photo} is not in {self._folder}")
        return path

    def _named_like(self, entrant: Entrant) -> list[Path]:
        forms = [_form(name) for name in (entrant.details.external_id, entrant.name) if name]
        for named in (self._exact, self._numbered):
            if paths := [path for form in forms for path in named.get(form, ())]:
                return [path for path in _once(paths) if path.resolve().is_relative_to(self._root)]
        return []


def _once(paths: Iterable[Path]) -> list[Path]:
    return list(dict.fromkeys(paths))


def _form(text: str) -> str:
    return lookup_form(re.sub(r"[\s_.-]+", " ", text))
