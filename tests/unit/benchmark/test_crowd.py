"""Galleries of people who do not exist are real galleries."""

import numpy as np

from edgefaced.benchmark.crowd import TEMPLATES_PER_PERSON, directions, empty_gallery, enrol_crowd


def test_directions_are_unit_vectors_and_the_same_for_a_seed() -> None:
    vectors = directions(7, 64, seed=3)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (vectors == directions(7, 64, seed=3)).all()
    assert (vectors != directions(7, 64, seed=4)).any()


def test_a_crowd_grows_to_the_template() -> None:
    told: list[int] = []
    with empty_gallery() as gallery:
        folder = gallery.key_file.parent
        enrol_crowd(gallery, "model", 16, 30, told=told.append)
        assert told == [TEMPLATES_PER_PERSON, 30]
        enrol_crowd(gallery, "model", 16, 12, first=30, told=told.append)
        table = gallery.templates("model")
        assert table.vectors.shape == (42, 16)
        assert len(np.unique(table.vectors, axis=0)) == 42
        assert told[-1] == 42
        assert len(gallery.people()) == 3
    assert not folder.exists()
