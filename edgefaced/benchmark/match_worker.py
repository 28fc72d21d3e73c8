"""Measures matching in the threads that this process' environment allows; see `matching.py`.

Prints one JSON object a line: progress of enrolling, then the figures of each index.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from json import dumps
from typing import get_args

from edgefaced.benchmark.crowd import directions, empty_gallery, enrol_crowd
from edgefaced.benchmark.matching import MatchFigures
from edgefaced.benchmark.quiet import Watch
from edgefaced.benchmark.spread import spread
from edgefaced.gallery.index import open_index
from edgefaced.gallery.scan import IndexKind
from edgefaced.gallery.store import Gallery
from edgefaced.types import Embedding

MODEL_ID = "bench"
PROBE_SEED = 2**31
WARM_UP = 5


def all_figures(
    templates: Sequence[int],
    kinds: Sequence[IndexKind],
    probes: Sequence[Embedding],
    told: Callable[[int], None],
) -> Iterator[MatchFigures]:
    """Every index at every number of templates, in one gallery that grows."""
    there = 0
    with empty_gallery() as gallery:
        for count in sorted(templates):
            enrol_crowd(
                gallery,
                MODEL_ID,
                probes[0].dimension,
                count - there,
                first=there,
                told=told,
            )
            there = count
            for kind in kinds:
                yield figures_of(gallery, kind, probes)


def figures_of(gallery: Gallery, kind: IndexKind, probes: Sequence[Embedding]) -> MatchFigures:
    """Searches of one index, each probe once."""
    index = open_index(gallery, MODEL_ID, kind)
    for probe in probes[:WARM_UP]:
        index.search(probe)
    times: list[float] = []
    watch = Watch()
    for probe in probes:
        start = time.perf_counter_ns()
        index.search(probe)
        times.append((time.perf_counter_ns() - start) / 1e6)
    noise = watch.noise()
    figures = MatchFigures(kind, index.size, probes[0].dimension, spread(times), noise)
    index.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dimension", type=int, required=True)
    parser.add_argument("--searches", type=int, required=True)
    parser.add_argument("--kind", action="append", required=True, choices=get_args(IndexKind))
    parser.add_argument("templates", type=int, nargs="+")
    given = parser.parse_args()
    probes = [
        Embedding(vector, MODEL_ID)
        for vector in directions(given.searches, given.dimension, PROBE_SEED)
    ]
    most = max(given.templates)

    def say(message: dict[str, object]) -> None:
        print(dumps(message), flush=True)  # noqa: T201 - to the process that started this one

    def told(enrolled: int) -> None:
        if enrolled % 1000 == 0:
            say({"enrolled": enrolled, "of": most})

    for figures in all_figures(given.templates, given.kind, probes, told):
        say(asdict(figures))


if __name__ == "__main__":
    main()
