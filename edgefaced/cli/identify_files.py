"""The faces of picture and video files, identified; the work behind `edgefaced identify`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from edgefaced.cli.album import Album
from edgefaced.cli.engine import Engine
from edgefaced.cli.seen import NamedFace, SeenFrame
from edgefaced.gallery.index import LiveIndex
from edgefaced.gallery.store import Gallery
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.pictures.video import moves, read_video
from edgefaced.protocols import GalleryIndex
from edgefaced.recognition.identification import Rules, identify_faces
from edgefaced.recognition.recogniser import FaceObservation
from edgefaced.types import Embedding, Match


class Nobody:
    """The index of a gallery that does not exist."""

    size = 0

    def search(self, probe: Embedding) -> Match | None:
        return None


class Identifier:
    """Looks at files one by one with what is open: the recogniser, the gallery, the album."""

    def __init__(
        self,
        engine: Engine,
        gallery: Gallery | None,
        index: LiveIndex | None,
        rules: Rules,
        album: Album | None,
    ) -> None:
        self._engine = engine
        self._gallery = gallery
        self._index: GalleryIndex = Nobody() if index is None else index
        self._rules = rules
        self._album = album
        self._names: dict[str, str] = {}

    def look(self, path: Path) -> Iterator[SeenFrame]:
        """One picture, or every frame of a video. Raises PictureError, DependencyMissing."""
        if moves(path):
            yield from self._video(path)
        else:
            yield self._picture(path)

    def _picture(self, path: Path) -> SeenFrame:
        frame = frame_of(read_picture(path))
        found = self._engine.finder.find(frame)
        faces = self._identified(found.faces)
        if self._album is not None:
            self._album.add_picture(path, frame.pixels, faces)
        return SeenFrame(frame.width, frame.height, None, faces, found.turn_degrees)

    def _video(self, path: Path) -> Iterator[SeenFrame]:
        with read_video(path) as frames:
            copy = self._album and self._album.video(path, frames.frames_per_second)
            with copy or nullcontext() as append:
                for frame in frames:
                    seen = self._engine.recogniser.observe(frame)
                    faces = self._identified(
                        sorted(seen, key=lambda face: face.detection.box.centre)
                    )
                    if append is not None:
                        append(frame.pixels, faces)
                    yield SeenFrame(frame.width, frame.height, frame.captured_ns / 1e9, faces)

    def _identified(self, faces: Sequence[FaceObservation]) -> tuple[NamedFace, ...]:
        identified = identify_faces(faces, self._engine.recogniser, self._index, self._rules)
        return tuple(NamedFace(i, self._name(i.decision.person_id)) for i in identified)

    def _name(self, person_id: str | None) -> str | None:
        if person_id is None or self._gallery is None:
            return None
        if person_id not in self._names:
            self._names[person_id] = self._gallery.name_of(person_id)
        return self._names[person_id]
