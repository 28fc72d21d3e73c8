"""Alignment recovers known similarities; an embedding is a direction or an error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.align import TEMPLATE, similarity
from edgefaced.core.embedding import normalise
from edgefaced.errors import EmbeddingError
from edgefaced.types import AlignedFace, ColourOrder, Embedding


@given(st.floats(-180, 180), st.floats(0.05, 20), st.floats(-2000, 2000), st.floats(-2000, 2000))
def test_any_similarity_is_recovered(degrees: float, scale: float, x: float, y: float) -> None:
    angle = np.radians(degrees)
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = (TEMPLATE @ turn.T + [x, y]).astype(np.float32)
    matrix = similarity(moved, TEMPLATE)
    back = moved @ matrix[:, :2].T + matrix[:, 2]
    np.testing.assert_allclose(back, TEMPLATE, atol=0.05)


def test_a_mirrored_face_is_not_mirrored_back() -> None:
    mirrored = TEMPLATE * np.array([-1, 1], np.float32)
    matrix = similarity(mirrored, TEMPLATE)
    assert np.linalg.det(matrix[:, :2]) > 0


@pytest.mark.parametrize("bad", [np.zeros((5, 2)), np.full((5, 2), np.nan)])
def test_landmarks_without_extent_are_an_error(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="coincide"):
        similarity(bad.astype(np.float32), TEMPLATE)


def test_normalise_gives_a_unit_vector() -> None:
    raw = np.random.default_rng(4).normal(size=(1, 128)).astype(np.float32) * 37
    embedding = normalise(raw, model_id="m", dimension=128)
    assert embedding.dimension == 128
    assert np.linalg.norm(embedding.vector) == pytest.approx(1, abs=1e-6)
    assert float(embedding.vector @ raw[0]) == pytest.approx(float(np.linalg.norm(raw)), rel=1e-5)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (np.zeros(128), "length 0"),
        (np.full(128, np.nan), "length nan"),
        (np.full(128, np.inf), "length inf"),
        (np.full(128, 1e30), None),
        (np.ones(127), "128 values, not 127"),
        (np.zeros(0), "128 values, not 0"),
    ],
)
def test_broken_output_is_an_error(raw: np.ndarray, words: str | None) -> None:
    if words is None:  # huge but finite is still a direction
        assert normalise(raw.astype(np.float32), model_id="m", dimension=128).dimension == 128
        return
    with pytest.raises(EmbeddingError, match=words):
        normalise(raw.astype(np.float32), model_id="m", dimension=128)


@pytest.mark.parametrize(
    "vector",
    [
        np.zeros(4, np.float32),
        np.full(4, np.nan, np.float32),
        np.full(4, 0.6, np.float32),
        np.full((2, 2), 0.5, np.float32),
        np.full(4, 0.5, np.float64),
    ],
)
def test_a_broken_embedding_cannot_exist(vector: np.ndarray) -> None:
    with pytest.raises(EmbeddingError):
        Embedding(vector, "m")


def test_an_aligned_face_has_one_size() -> None:
    with pytest.raises(ValueError, match="112"):
        AlignedFace(np.zeros((112, 111, 3), np.uint8), ColourOrder.BGR)
