"""Folders of people: one sub-folder a person, its pictures inside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import UsageError
from edgefaced.pictures.find import find_pictures


@dataclass(frozen=True, slots=True)
class Pictures:
    """Picture files and whose they are: `owners[i]` is the index in `names` of picture i."""

    paths: tuple[Path, ...]
    owners: tuple[int, ...]
    names: tuple[str, ...]


def people_root(folder: Path) -> Path:
    """The folder whose sub-folders are people: `images` inside, as in LFW, or the folder itself.

    Raises UsageError where there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", "name a folder with one sub-folder a person")
    images = folder / "images"
    inside = images.is_dir() and any(entry.is_dir() for entry in images.iterdir())
    return images if inside else folder


def read_people(folder: Path) -> Pictures:
    """All pictures of all people. Raises UsageError where there are not two people."""
    root = people_root(folder)
    paths: list[Path] = []
    owners: list[int] = []
    names: list[str] = []
    for entry in sorted(root.iterdir()):
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        found = find_pictures([entry])
        if found:
            owners += [len(names)] * len(found)
            paths += found
            names.append(entry.name)
    if len(names) < 2:
        raise UsageError(
            f"{root} has {len(names)} sub-folders with pictures",
            "name a folder with one sub-folder a person",
        )
    return Pictures(tuple(paths), tuple(owners), tuple(names))
