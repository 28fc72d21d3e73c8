"""Our path and those of others on one frame, in turns in one process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edgefaced.benchmark.peer import Agreement, Peer, agreement
from edgefaced.benchmark.pipeline import Pipeline
from edgefaced.benchmark.quiet import settle
from edgefaced.benchmark.spread import Ratio, Spread, ratio, spread
from edgefaced.benchmark.turns import Contender, take_turns
from edgefaced.protocols import GalleryIndex
from edgefaced.types import Frame

OURS = "edgefaced"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One peer beside us on the same frame: how many times longer it takes is `ratio`.

    `cpu_ratio` is the same of processor time, all threads taken together. Ours is everything from
    the frame to the decision; the peer's is detection, alignment and embedding, which is less.
    `agreement` is None where the peer did not find the same one face: then it did other work and
    the ratio says nothing.
    """

    name: str
    version: str
    settings: str
    agreement: Agreement | None
    ours: Spread
    theirs: Spread
    ratio: Ratio
    ours_cpu: Spread
    theirs_cpu: Spread
    cpu_ratio: Ratio


def compare(
    pipeline: Pipeline,
    index: GalleryIndex,
    frame: Frame,
    peers: Sequence[Peer],
    rounds: int,
    told: Callable[[int], None],
) -> tuple[Comparison, ...]:
    """Every peer against us, all in turns; `frame` is a BGR frame of one face."""
    detection, embedding = pipeline.face_of(frame)

    def contender(peer: Peer) -> Contender:
        return Contender(peer.name, lambda: peer.find(frame.pixels))

    contenders = [Contender(OURS, lambda: pipeline.pass_through(frame, index))]
    contenders += [contender(peer) for peer in peers]
    with warnings.catch_warnings():
        # What other packages warn their own makers of is not ours to show.
        warnings.simplefilter("ignore")
        agreements = [agreement(p, detection, embedding, p.find(frame.pixels)) for p in peers]
        ours, *theirs = take_turns(contenders, rounds, settle=settle, told=told)
    return tuple(
        Comparison(
            name=peer.name,
            version=peer.version,
            settings=peer.settings,
            agreement=agreed,
            ours=spread(ours.times_ms),
            theirs=spread(timed.times_ms),
            ratio=ratio(ours.times_ms, timed.times_ms),
            ours_cpu=spread(ours.cpu_ms),
            theirs_cpu=spread(timed.cpu_ms),
            cpu_ratio=ratio(ours.cpu_ms, timed.cpu_ms),
        )
        for peer, agreed, timed in zip(peers, agreements, theirs, strict=True)
    )
