"""Every picture of a set to one embedding; nothing is kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from edgefaced.core.embedding import normalise
from edgefaced.errors import PictureError
from edgefaced.evaluation.people import Pictures
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.types import F32, AlignedFace, Embedding, FaceDetection, Frame


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedPictures:
    """Embeddings of a set of pictures: row i of `vectors` is picture `found[i]` of the set.

    `faceless` and `unreadable` are pictures without an embedding, the latter with the reason;
    `crowded` counts those with more than one face, of which the most central was taken.
    """

    vectors: F32
    found: tuple[int, ...]
    faceless: tuple[int, ...]
    unreadable: tuple[tuple[int, str], ...]
    crowded: int

    def owners(self, pictures: Pictures) -> tuple[NDArray[np.intp], tuple[str, ...]]:
        """Person of each row, numbered without gaps, and the names of those people."""
        of_rows = [pictures.owners[i] for i in self.found]
        present, numbers = np.unique(of_rows, return_inverse=True)
        return numbers.astype(np.intp), tuple(pictures.names[p] for p in present)


def embed_pictures(
    recogniser: Recogniser,
    pictures: Pictures,
    *,
    mirror: bool,
    advance: Callable[[], None],
) -> EmbeddedPictures:
    """Detects, aligns and embeds; `advance` is called after each picture.

    With `mirror` the embeddings of the face and of its mirror image are added. A picture that
    cannot be read is recorded, not raised.
    """
    vectors: list[F32] = []
    found: list[int] = []
    faceless: list[int] = []
    unreadable: list[tuple[int, str]] = []
    crowded = 0
    for index, path in enumerate(pictures.paths):
        try:
            frame = frame_of(read_picture(path), index)
        except PictureError as error:
            unreadable.append((index, str(error)))
        else:
            faces = recogniser.detect(frame)
            crowded += len(faces) > 1
            if faces:
                face = recogniser.align(frame, most_central(faces, frame))
                vectors.append(embed_face(recogniser, face, mirror=mirror).vector)
                found.append(index)
            else:
                faceless.append(index)
        advance()
    rows = np.stack(vectors) if vectors else np.empty((0, 0), dtype=np.float32)
    return EmbeddedPictures(rows, tuple(found), tuple(faceless), tuple(unreadable), crowded)


def embed_face(recogniser: Recogniser, face: AlignedFace, *, mirror: bool) -> Embedding:
    """The face's embedding; with `mirror` the direction between it and its mirror image's."""
    embedding = recogniser.embed(face)
    if not mirror:
        return embedding
    turned = AlignedFace(np.asarray(cv2.flip(face.pixels, 1), dtype=np.uint8), face.colour_order)
    both = embedding.vector + recogniser.embed(turned).vector
    return normalise(both, model_id=embedding.model_id, dimension=embedding.dimension)


def most_central(faces: list[FaceDetection], frame: Frame) -> FaceDetection:
    """The face whose box has its centre nearest to the picture's: whom the picture is of."""

    def distance(face: FaceDetection) -> float:
        x, y = face.box.centre
        return float(np.hypot(x - (frame.width - 1) / 2, y - (frame.height - 1) / 2))

    return min(faces, key=distance)
