"""Every way of searching gives the same answer, to the last bit, also while people come and go."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefaced.core.matching import best_match, exact_scores, scan_error
from edgefaced.errors import DependencyMissing, EmbeddingError, ModelMismatch
from edgefaced.gallery.index import open_index
from edgefaced.gallery.records import ChangeKind, NewTemplate
from edgefaced.gallery.rows import KEPT_CHANGES, append_change
from edgefaced.gallery.scan import FAISS_WINS_AT_ROWS, Scan, by_faiss, choose_scan
from edgefaced.gallery.store import Gallery
from edgefaced.protocols import GalleryIndex
from edgefaced.types import F32, Embedding

KINDS = ["exact", "faiss", "auto"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    if request.param == "faiss":
        pytest.importorskip("faiss")
    return request.param


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "gallery.db", tmp_path / "gallery.key"


@pytest.fixture
def gallery(places: tuple[Path, Path]) -> Iterator[Gallery]:
    with Gallery.open(*places, create=True) as opened:
        yield opened


@pytest.fixture
def writer(gallery: Gallery, places: tuple[Path, Path]) -> Iterator[Gallery]:
    """The gallery as another process has it open."""
    with Gallery.open(*places) as opened:
        yield opened


def unit(seed: int, dimension: int = 32) -> F32:
    vector = np.random.default_rng(seed).standard_normal(dimension)
    unit_vector: F32 = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit_vector


def probe(seed: int, dimension: int = 32) -> Embedding:
    return Embedding(unit(seed, dimension), "sface")


def new(*seeds: int) -> list[NewTemplate]:
    return [NewTemplate(probe(seed)) for seed in seeds]


def found(index: GalleryIndex, seed: int) -> str | None:
    match = index.search(probe(seed))
    return None if match is None or match.best.score < 0.99 else match.best.person_id


def test_an_empty_gallery_matches_nobody(gallery: Gallery, kind: Any) -> None:
    index = open_index(gallery, "sface", kind)
    assert index.size == index.people == 0
    assert index.search(probe(1)) is None
    assert not index.refresh()


def test_best_person_and_runner_up(gallery: Gallery, kind: Any) -> None:
    ann = gallery.enrol("Ann", new(1, 2, 3))
    bob = gallery.enrol("Bob", new(4))
    index = open_index(gallery, "sface", kind)
    assert (index.size, index.people) == (4, 2)
    match = index.search(probe(2))
    assert match is not None
    assert match.best.person_id == ann.id
    assert match.best.score == pytest.approx(1, abs=1e-6)
    assert match.runner_up is not None
    assert match.runner_up.person_id == bob.id
    assert match.runner_up.score == pytest.approx(float(unit(4) @ unit(2)), abs=1e-6)


def test_one_person_has_no_runner_up(gallery: Gallery, kind: Any) -> None:
    gallery.enrol("Ann", new(*range(40)))  # more templates than faiss looks at first
    match = open_index(gallery, "sface", kind).search(probe(7))
    assert match is not None
    assert match.runner_up is None
    assert match.margin == float("inf")


def test_a_probe_of_another_kind_is_an_error(gallery: Gallery, kind: Any) -> None:
    index = open_index(gallery, "sface", kind)
    with pytest.raises(ModelMismatch, match="w600k cannot be compared"):
        index.search(Embedding(unit(1), "w600k"))
    gallery.enrol("Ann", new(1))
    index.refresh()
    with pytest.raises(ModelMismatch):
        index.search(Embedding(unit(1), "w600k"))
    with pytest.raises(EmbeddingError, match=r"64 numbers.*32"):
        index.search(probe(1, 64))


def test_a_gallery_of_another_model_does_not_open(gallery: Gallery, kind: Any) -> None:
    gallery.enrol("Ann", new(1))
    with pytest.raises(ModelMismatch, match=r"1 enrolled people have templates of sface.*re-embed"):
        open_index(gallery, "w600k", kind)


def test_a_running_reader_follows(gallery: Gallery, writer: Gallery, kind: Any) -> None:
    index = open_index(gallery, "sface", kind)
    assert not index.refresh()
    ann = writer.enrol("Ann", new(1))
    assert found(index, 1) is None
    assert index.refresh()
    assert not index.refresh()
    assert found(index, 1) == ann.id
    bob = writer.enrol("Bob", new(2, 3))
    writer.enrol("Ann", new(4), extend=True)
    assert index.refresh()
    assert [found(index, n) for n in (1, 2, 3, 4)] == [ann.id, bob.id, bob.id, ann.id]
    writer.rename(bob.id, "Rob")
    assert index.refresh(), "a new name is a change, too"
    assert gallery.name_of(bob.id) == "Rob"
    assert found(index, 2) == bob.id
    writer.remove(ann.id)
    assert index.refresh()
    assert [found(index, n) for n in (1, 2, 3, 4)] == [None, bob.id, bob.id, None]
    assert (index.size, index.people) == (2, 1)
    writer.remove(bob.id)
    assert index.refresh()
    assert index.search(probe(2)) is None


def test_changes_by_the_own_connection_count(gallery: Gallery, kind: Any) -> None:
    index = open_index(gallery, "sface", kind)
    ann = gallery.enrol("Ann", new(1))
    assert index.refresh()
    assert found(index, 1) == ann.id
    gallery.remove(ann.id)
    assert index.refresh()
    assert found(index, 1) is None


def test_one_who_came_and_went_unseen(gallery: Gallery, writer: Gallery, kind: Any) -> None:
    index = open_index(gallery, "sface", kind)
    writer.remove(writer.enrol("Ann", new(1)).id)
    assert index.refresh()
    assert index.size == 0


def test_a_reader_far_behind_loads_again(gallery: Gallery, writer: Gallery, kind: Any) -> None:
    ann = writer.enrol("Ann", new(1))
    index = open_index(gallery, "sface", kind)
    bob = writer.enrol("Bob", new(2))
    with writer.writing() as db:
        for _ in range(KEPT_CHANGES):
            append_change(db, ann.id, ChangeKind.RENAMED)
    assert index.refresh()
    assert not index.refresh()
    assert [found(index, n) for n in (1, 2)] == [ann.id, bob.id]


def test_a_closed_index_finds_nobody(gallery: Gallery, kind: Any) -> None:
    gallery.enrol("Ann", new(1))
    index = open_index(gallery, "sface", kind)
    index.close()
    assert index.size == 0
    assert index.search(probe(1)) is None


def test_a_gallery_moved_to_another_model_stops_the_reader(
    gallery: Gallery, writer: Gallery, kind: Any
) -> None:
    ann = writer.enrol("Ann", new(1))
    index = open_index(gallery, "sface", kind)
    writer.remove(ann.id)
    writer.enrol("Ann", [NewTemplate(Embedding(unit(1, 64), "w600k"))])
    for _ in range(2):  # and goes on to do so
        with pytest.raises(ModelMismatch, match="w600k"):
            index.refresh()
        assert index.search(probe(1)) is None


def test_a_gallery_emptied_and_filled_with_another_dimension(
    gallery: Gallery, writer: Gallery, kind: Any
) -> None:
    ann = writer.enrol("Ann", new(1))
    index = open_index(gallery, "sface", kind)
    writer.remove(ann.id)
    bob = writer.enrol("Bob", [NewTemplate(probe(2, 64))])
    assert index.refresh()
    match = index.search(probe(2, 64))
    assert match is not None
    assert match.best.person_id == bob.id


def test_all_kinds_agree_to_the_last_bit(gallery: Gallery, writer: Gallery) -> None:
    pytest.importorskip("faiss")
    random = np.random.default_rng(5)
    indexes = [open_index(gallery, "sface", "exact"), open_index(gallery, "sface", "faiss")]
    people = [writer.enrol(f"P{n}", new(*random.integers(0, 60, 3))) for n in range(40)]
    for round_ in range(6):
        for n in random.choice(len(people), 4, replace=False):
            writer.enrol(people[n].name, new(int(random.integers(0, 90))), extend=True)
        writer.remove(people.pop(int(random.integers(len(people)))).id)
        for index in indexes:
            assert index.refresh()
        # Loaded anew: the rows lie in another order than in those that followed the changes.
        fresh = [open_index(gallery, "sface", "exact"), open_index(gallery, "sface", "faiss")]
        table = gallery.templates("sface")
        for seed in range(100 * round_ % 90, 100 * round_ % 90 + 20):
            every = exact_scores(table.vectors, unit(seed))
            expected = best_match(every, table.owners, table.person_ids)
            assert [i.search(probe(seed)) for i in (*indexes, *fresh)] == [expected] * 4


def scans() -> list[Scan]:
    pytest.importorskip("faiss")
    return [choose_scan("exact", 0), by_faiss()]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 400),
    people=st.integers(1, 30),
    dimension=st.sampled_from([16, 128, 512]),
    distinct=st.integers(1, 400),
    nudge=st.sampled_from([0.0, 1e-8, 1e-6, 1e-3]),
)
def test_scans_keep_the_rows_that_decide(
    seed: int, rows: int, people: int, dimension: int, distinct: int, nudge: float
) -> None:
    """With copies and near copies of a template under several people, where every bit matters."""
    random = np.random.default_rng(seed)
    pool = random.standard_normal((distinct, dimension))
    chosen = pool[random.integers(0, distinct, rows)]
    chosen /= np.linalg.norm(chosen, axis=1, keepdims=True)
    chosen += nudge * random.standard_normal(chosen.shape)
    vectors: F32 = chosen.astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    owners = random.integers(0, people, rows).astype(np.intp)
    ids = [f"p{n}" for n in random.permutation(people)]
    target = vectors[random.integers(rows)].copy()
    expected = best_match(exact_scores(vectors, target), owners, ids)
    for scan in scans():
        kept = scan.run(vectors, target, owners, scan_error(dimension))
        scores = exact_scores(vectors[kept], target)
        assert best_match(scores, owners[kept], ids) == expected
        assert kept.dtype == np.intp


def test_faiss_widens_until_there_is_another_person() -> None:
    vectors: F32 = np.tile(unit(1), (500, 1))
    vectors[499] = unit(2)
    owners = np.zeros(500, np.intp)
    owners[499] = 1
    for scan in scans():
        kept = scan.run(vectors, unit(1), owners, 1e-5)
        assert 499 in kept


def test_auto_is_exact_for_small_galleries_and_without_faiss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert choose_scan("auto", FAISS_WINS_AT_ROWS - 1).name == "exact"
    pytest.importorskip("faiss")
    assert choose_scan("auto", FAISS_WINS_AT_ROWS).name == "faiss"
    assert choose_scan("exact", FAISS_WINS_AT_ROWS).name == "exact"
    assert choose_scan("faiss", 0).name == "faiss"
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert choose_scan("auto", FAISS_WINS_AT_ROWS).name == "exact"
    with pytest.raises(DependencyMissing, match=r"pip install 'edgefaced\[faiss\]'"):
        choose_scan("faiss", 0)


def test_the_kind_in_use_can_be_asked(gallery: Gallery) -> None:
    assert open_index(gallery, "sface", "exact").scan_name == "exact"
    assert open_index(gallery, "sface").scan_name == "exact"
