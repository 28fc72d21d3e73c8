"""The tap shows the newest faces to whoever looks, and knows whether anybody does."""

from __future__ import annotations

from edgefaced.pipeline.faces import FaceBatch
from edgefaced.pipeline.tap import FaceTap


def test_it_knows_whether_anybody_looks_and_shows_the_newest() -> None:
    tap = FaceTap()
    watched = [tap.watched]
    with tap.watching() as slot:
        watched.append(tap.watched)
        for number in range(3):
            tap.show(FaceBatch(number, 0, (), ()))
        batch = slot.take(0)
        assert batch is not None
        assert batch.sequence == 2
    watched.append(tap.watched)
    assert watched == [False, True, False]
