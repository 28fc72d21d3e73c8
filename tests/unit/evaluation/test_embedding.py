"""Pictures to embeddings: whom a picture is of, and what happens to those without a face."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from edgefaced.core.embedding import normalise
from edgefaced.evaluation.embedding import embed_face, embed_pictures, most_central
from edgefaced.evaluation.people import Pictures
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.types import (
    AlignedFace,
    Box,
    ColourOrder,
    Embedding,
    FaceDetection,
    Frame,
    PixelFormat,
)

LANDMARKS = np.array([[30, 40], [60, 40], [45, 55], [33, 70], [57, 70]], dtype=np.float32)


def face(x: float, y: float, half: float = 20.0) -> FaceDetection:
    return FaceDetection(Box(x - half, y - half, x + half, y + half), LANDMARKS, 0.9)


class MarkedFaces:
    """Finds as many faces, 0 to 2, as the picture's first pixel has hundreds."""

    def bytes_copied(self, frame: Frame) -> int:
        return 0

    def detect(self, frame: Frame) -> list[FaceDetection]:
        return [face(20.0, 20.0), face(45.0, 55.0)][: int(frame.pixels[0, 0, 0]) // 100]


class HalvesEmbedder:
    """Four numbers: mean brightness of the left and right half, and of the upper and lower."""

    model_id = "halves"
    colour_order = ColourOrder.BGR

    def embed(self, face: AlignedFace) -> Embedding:
        halves = face.pixels[:, :56], face.pixels[:, 56:], face.pixels[:56], face.pixels[56:]
        raw = np.array([half.mean() + 1.0 for half in halves], dtype=np.float32)
        return normalise(raw, model_id=self.model_id, dimension=4)


@pytest.fixture
def recogniser() -> Recogniser:
    return Recogniser(MarkedFaces(), HalvesEmbedder(), ())


def picture(path: Path, faces: int) -> Path:
    pixels = np.random.default_rng(faces).integers(0, 255, (100, 90, 3), dtype=np.uint8)
    pixels[0, 0] = faces * 100 + 20
    path.parent.mkdir(exist_ok=True)
    cv2.imwrite(str(path), pixels)
    return path


def test_every_picture_is_accounted_for(tmp_path: Path, recogniser: Recogniser) -> None:
    paths = [
        picture(tmp_path / "ann/1.png", 1),
        picture(tmp_path / "bob/1.png", 0),
        picture(tmp_path / "cat/1.png", 2),
        tmp_path / "cat/2.png",
    ]
    paths[3].write_text("not a picture")
    calls: list[None] = []
    pictures = Pictures(tuple(paths), (0, 1, 2, 2), ("ann", "bob", "cat"))

    result = embed_pictures(recogniser, pictures, mirror=False, advance=lambda: calls.append(None))

    assert len(calls) == 4
    assert result.found == (0, 2)
    assert result.faceless == (1,)
    assert result.crowded == 1
    ((unreadable, reason),) = result.unreadable
    assert unreadable == 3
    assert "2.png" in reason
    assert result.vectors.shape == (2, 4)
    # Bob has no embedding: people are numbered anew without him.
    owners, names = result.owners(pictures)
    assert owners.tolist() == [0, 1]
    assert names == ("ann", "cat")


def test_nothing_found_is_an_empty_table(tmp_path: Path, recogniser: Recogniser) -> None:
    pictures = Pictures((picture(tmp_path / "ann/1.png", 0),), (0,), ("ann",))
    result = embed_pictures(recogniser, pictures, mirror=False, advance=lambda: None)
    assert result.found == ()
    assert result.vectors.size == 0


def test_mirror_adds_both_sides(recogniser: Recogniser) -> None:
    pixels = np.zeros((112, 112, 3), dtype=np.uint8)
    pixels[:, :56] = 200
    pixels[:56] //= 2
    aligned = AlignedFace(pixels, ColourOrder.BGR)
    plain = embed_face(recogniser, aligned, mirror=False).vector
    both = embed_face(recogniser, aligned, mirror=True)
    assert plain[0] > 10 * plain[1]
    assert both.vector[0] == pytest.approx(both.vector[1])
    assert both.vector[2] < both.vector[3]
    assert both.model_id == "halves"


def test_the_most_central_face_counts_whatever_its_size() -> None:
    frame = Frame(0, 0, np.zeros((100, 200, 3), dtype=np.uint8), PixelFormat.BGR)
    central, large = face(95.0, 52.0, 4.0), face(60.0, 50.0, 45.0)
    assert most_central([large, central], frame) is central
