"""Searches grow with the gallery, not faster. A ratio is asserted, never a time."""

import pytest

from edgefaced.benchmark.matching import kinds_here, measure_matching

pytestmark = pytest.mark.bench


def test_ten_times_the_templates_cost_no_more_than_their_share() -> None:
    figures = list(
        measure_matching((1_000, 10_000), dimension=512, searches=200, kinds=kinds_here())
    )
    for kind in kinds_here():
        small, large = (f.search.p50_ms for f in figures if f.index == kind)
        # Ten times the work, and memory that no longer fits the nearest caches.
        assert large / small < 60
