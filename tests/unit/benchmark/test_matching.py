"""Matching, measured by a process of its own."""

import pytest

from edgefaced.benchmark.crowd import directions
from edgefaced.benchmark.match_worker import MODEL_ID, all_figures
from edgefaced.benchmark.matching import kinds_here, measure_matching
from edgefaced.errors import EdgefacedError
from edgefaced.types import Embedding


def test_every_index_at_every_number_of_templates() -> None:
    told: list[int] = []
    probes = [Embedding(v, MODEL_ID) for v in directions(7, 32, seed=9)]
    figures = list(all_figures([60, 30], ["exact"], probes, told.append))
    assert [(f.index, f.templates, f.dimension, f.search.n) for f in figures] == [
        ("exact", 30, 32, 7),
        ("exact", 60, 32, 7),
    ]
    assert told[-1] == 60


def test_the_worker_reports_what_it_measured_and_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    figures = list(
        measure_matching(
            (1000, 25, 25),
            dimension=16,
            searches=4,
            kinds=kinds_here(),
            told=lambda done, total: told.append((done, total)),
        )
    )
    assert [(f.index, f.templates) for f in figures] == [
        (kind, count) for count in (25, 1000) for kind in kinds_here()
    ]
    assert all(f.search.n == 4 and f.search.p50_ms > 0 for f in figures)
    assert told == [(1000, 1000)]


def test_a_worker_that_fails_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EdgefacedError, match="ended with status"):
        list(measure_matching([25], dimension=16, searches=1, kinds=["no such index"]))
    assert "no such index" in capfd.readouterr().err


def test_a_measurement_that_is_given_up_ends_its_worker() -> None:
    figures = measure_matching([25, 50_000], dimension=16, searches=1, kinds=["exact"])
    assert next(figures).templates == 25
    figures.close()  # type: ignore[attr-defined]  # a generator; the leak fixture sees the rest
