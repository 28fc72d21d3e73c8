"""LFW's figures and those over all pairs, from embeddings whose answer is known."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from plot_fonts import open_fonts

from edgefaced.core.comparisons import Comparisons, compare_all
from edgefaced.errors import DependencyMissing, StorageError
from edgefaced.evaluation.all_pairs import measure_all_pairs
from edgefaced.evaluation.embedding import EmbeddedPictures
from edgefaced.evaluation.lfw import evaluate_lfw, score_pairs
from edgefaced.evaluation.pairs import Pair, PairList
from edgefaced.evaluation.people import Pictures
from edgefaced.evaluation.plots import curve, draw_scores
from edgefaced.types import F32


def unit(rows: list[list[float]]) -> F32:
    vectors = np.array(rows, dtype=np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def embedded(vectors: F32, found: tuple[int, ...]) -> EmbeddedPictures:
    return EmbeddedPictures(vectors, found, (), (), 0)


def people(
    count: int, each: int, seed: int, within: float = 0.7
) -> tuple[Pictures, EmbeddedPictures]:
    rng = np.random.default_rng(seed)
    centres = np.repeat(rng.standard_normal((count, 48)), each, axis=0)
    vectors = unit((centres + within * rng.standard_normal(centres.shape)).tolist())
    paths = tuple(Path(f"{n // each}/{n % each}.jpg") for n in range(count * each))
    owners = tuple(n // each for n in range(count * each))
    pictures = Pictures(paths, owners, tuple(str(n) for n in range(count)))
    return pictures, embedded(vectors, tuple(range(count * each)))


def compare(pictures: Pictures, rows: EmbeddedPictures) -> Comparisons:
    return compare_all(rows.vectors, rows.owners(pictures)[0])


def test_pairs_are_scored_and_who_is_not_seen_does_not_match() -> None:
    paths = tuple(Path(f"{n}.jpg") for n in range(3))
    listed = PairList(
        Pictures(paths, (0, 0, 1), ("ann", "bob")),
        (Pair(0, 1, True, 0), Pair(0, 2, False, 0), Pair(1, 0, True, 1), Pair(1, 2, False, 1)),
    )
    scores = score_pairs(listed, embedded(unit([[1, 0], [1, 1]]), (0, 2)))
    assert scores.scores.tolist() == [-1.0, pytest.approx(0.5**0.5), -1.0, -1.0]
    assert scores.unscored == 3
    assert scores.same.tolist() == [True, False, True, False]
    assert scores.folds.tolist() == [0, 0, 1, 1]


def test_lfw_figures() -> None:
    pictures, rows = people(60, 2, seed=1)
    genuine = [Pair(2 * n, 2 * n + 1, True, n % 2) for n in range(60)]
    impostor = [
        Pair(2 * a, 2 * b + 1, False, (a + b) % 2) for a in range(60) for b in range(a + 1, 60)
    ]
    result = evaluate_lfw(score_pairs(PairList(pictures, (*genuine, *impostor)), rows))
    assert result.pairs == 60 + 1770
    assert result.unscored == 0
    assert len(result.accuracy.folds) == 2
    assert result.accuracy.mean > 0.97
    assert [p.wanted_fmr for p in result.tar_at_far] == [1e-2, 1e-3]
    assert result.tar_at_far[0].tar >= result.tar_at_far[1].tar > 0.8
    assert result.eer < 0.02


def test_rates_that_cannot_be_measured_are_left_out() -> None:
    pictures, rows = people(10, 2, seed=2)
    result = evaluate_lfw(
        score_pairs(
            PairList(pictures, (Pair(0, 1, True, 0), Pair(0, 2, False, 0), Pair(2, 3, True, 1))),
            rows,
        )
    )
    assert result.tar_at_far == ()
    few = measure_all_pairs(compare(pictures, rows), rows, pictures)
    assert (few.people, few.pictures, few.genuine, few.impostors) == (10, 20, 10, 180)
    assert few.points == few.without_suspects == ()
    assert few.suspects == ()


def test_all_pairs_without_two_pictures_of_anybody() -> None:
    pictures, rows = people(150, 1, seed=3)
    result = measure_all_pairs(compare(pictures, rows), rows, pictures)
    assert result.genuine == 0
    assert result.points == ()


def test_all_pairs_name_the_suspects() -> None:
    pictures, rows = people(150, 2, seed=4, within=0.3)
    same_face = Pictures(pictures.paths, (*pictures.owners[:-1], 150), (*pictures.names, "again"))
    result = measure_all_pairs(compare(same_face, rows), rows, same_face)
    (suspect,) = result.suspects
    assert {suspect.first, suspect.second} == {Path("149/0.jpg"), Path("149/1.jpg")}
    assert suspect.comparisons == result.suspect_comparisons == 1
    assert [p.wanted_fmr for p in result.points] == [1e-3, 1e-4]
    # One of 44,699 comparisons: at most four may match at 1e-4, so one fewer is a lower threshold.
    for all_of_them, without in zip(result.points, result.without_suspects, strict=True):
        assert without.threshold < all_of_them.threshold
        assert without.fnmr <= all_of_them.fnmr


def test_curve_agrees_with_counting() -> None:
    pictures, rows = people(60, 3, seed=5)
    comparisons = compare(pictures, rows)
    fmr, tar = curve(comparisons)
    assert np.all(np.diff(fmr) >= 0)
    assert np.all(np.diff(tar) >= 0)
    assert fmr[0] == 1 / comparisons.impostors
    assert (fmr[-1], tar[-1]) == (1.0, 1.0)
    at = comparisons.tail.scores[99]
    assert fmr[99] == pytest.approx(100 / comparisons.impostors)
    assert tar[99] == pytest.approx(np.mean(comparisons.genuine >= at))


@pytest.fixture(scope="module")
def fonts(tmp_path_factory: pytest.TempPathFactory) -> None:
    open_fonts(tmp_path_factory.mktemp("fonts"))


@pytest.mark.usefixtures("fonts")
def test_curves_are_drawn(tmp_path: Path) -> None:
    pictures, rows = people(20, 2, seed=6)
    file = tmp_path / "scores.png"
    draw_scores(compare(pictures, rows), "title", file)
    assert file.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(StorageError, match="absent"):
        draw_scores(compare(pictures, rows), "title", tmp_path / "absent/scores.png")


def test_curves_need_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    pictures, rows = people(5, 2, seed=7)
    with pytest.raises(DependencyMissing, match="edgefaced\\[plots\\]"):
        draw_scores(compare(pictures, rows), "title", tmp_path / "scores.png")
