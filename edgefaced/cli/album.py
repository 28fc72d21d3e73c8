"""Annotated copies of pictures and videos, in a folder of the person's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from edgefaced.cli.seen import NamedFace
from edgefaced.errors import PictureError, StorageError
from edgefaced.pictures.annotate import Mark, annotate
from edgefaced.pictures.video import VideoWriter
from edgefaced.pictures.write import write_picture
from edgefaced.types import U8, Outcome

LONGEST_STEM = 80


class Album:
    """A folder for copies; each keeps the name of its original, numbered where two have one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._taken: set[str] = set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"{folder}: {error.strerror or error}", "--output names it"
            ) from error

    def add_picture(self, original: Path, pixels: U8, faces: Sequence[NamedFace]) -> None:
        """Raises StorageError where it cannot be written."""
        write_picture(self._place(original, ".jpg"), annotate(pixels, _marks(faces)))

    @contextmanager
    def video(
        self, original: Path, frames_per_second: float
    ) -> Iterator[Callable[[U8, Sequence[NamedFace]], None]]:
        """A function that appends one annotated frame. Raises StorageError.

        Of a film that breaks off the copy has what could be read; of an interrupted look none is.
        """
        place = self._place(original, ".mp4")
        writer: VideoWriter | None = None
        broken_off: PictureError | None = None
        with ExitStack() as stack:

            def append(pixels: U8, faces: Sequence[NamedFace]) -> None:
                nonlocal writer
                if writer is None:
                    height, width = pixels.shape[:2]
                    writer = stack.enter_context(
                        VideoWriter(
                            place, width=width, height=height, frames_per_second=frames_per_second
                        )
                    )
                writer.write(annotate(pixels, _marks(faces)))

            try:
                yield append
            except PictureError as error:
                broken_off = error
        if broken_off is not None:
            raise broken_off

    def _place(self, original: Path, suffix: str) -> Path:
        stem = original.stem[:LONGEST_STEM]
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}-{number}"
        self._taken.add(name)
        return self.folder / f"{name}{suffix}"


def _marks(faces: Sequence[NamedFace]) -> list[Mark]:
    marks: list[Mark] = []
    for face in faces:
        decision, detection = face.identified.decision, face.identified.face.detection
        label = face.name or str(decision.outcome)
        if decision.score is not None:
            label += f" {decision.score:.2f}"
        if decision.outcome is Outcome.TOO_POOR:
            label += f": {decision.reason}"
        marks.append(Mark(detection.box, detection.landmarks, label, decision.outcome))
    return marks
