"""Which files a person means: the ones named, and the pictures inside the folders named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from edgefaced.errors import PictureError
from edgefaced.pictures.files import FileKind, sniff

PICTURE_SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".gif"),
    *(".pgm", ".ppm", ".pbm", ".pnm", ".heic", ".heif"),
)
VIDEO_SUFFIXES = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg")


def find_pictures(paths: Sequence[Path], *, videos: bool = False) -> list[Path]:
    """The files named, as they are, and the pictures (and `videos`) of the folders named.

    Folders are walked in order of names; hidden entries and folders that are links are left out.
    A file of a folder counts when its name or its first bytes are a picture's. Raises PictureError
    for a folder that cannot be read.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if _is_folder(path):
            found.update(dict.fromkeys(_inside(path, videos)))
        else:
            found[path] = None
    return list(found)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # said when it is read
        return False


def _inside(folder: Path, videos: bool) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise PictureError(
            f"{error.filename}: {error.strerror}", "the folder must be readable"
        ) from error

    for parent, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(parent, name)
            if not name.startswith(".") and _counts(path, videos):
                yield path


def _counts(path: Path, videos: bool) -> bool:
    suffix = path.suffix.lower()
    if suffix in PICTURE_SUFFIXES:
        return True
    if suffix in VIDEO_SUFFIXES:
        return videos
    kind = sniff(path)
    return kind is not None and (videos or kind is not FileKind.VIDEO)
