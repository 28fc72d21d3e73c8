"""The recognising stage: faces in, events out. Gallery and embedder belong to its thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from edgefaced.core.policy import DecisionPolicy, Evidence
from edgefaced.errors import EmbeddingError, GalleryError, StorageError
from edgefaced.events import DecisionMade, FaceLeft, Happening, Trouble
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.faces import FaceBatch, SeenFace
from edgefaced.pipeline.figures import Figures
from edgefaced.pipeline.freshness import Freshness
from edgefaced.pipeline.handoff import Closed, LatestSlot
from edgefaced.pipeline.interest import Interest
from edgefaced.pipeline.tap import FaceTap
from edgefaced.pipeline.tray import TakenPicture, Tray
from edgefaced.protocols import Embedder, LiveGalleryIndex
from edgefaced.types import Liveness, Match

TAKE_SECONDS = 0.5

QUIET_SECONDS = 10.0
"""After so long without an odd embedding that trouble is over."""

UNREADABLE, ODD = "gallery unreadable", "odd embedding"


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the stage recognises with; opened, used and closed by its thread."""

    embedder: Embedder
    index: LiveGalleryIndex
    threshold: Callable[[int], float]
    """Threshold for a gallery of so many templates."""


class Judge:
    """Body of the stage."""

    def __init__(
        self,
        batches: LatestSlot[FaceBatch],
        announce: Callable[[Happening], None],
        open_knowledge: Callable[[], AbstractContextManager[Knowledge]],
        *,
        tap: FaceTap,
        interest: Interest,
        policy: DecisionPolicy,
        freshness: Freshness,
        figures: Figures,
        stop: threading.Event,
        tray: Tray,
        again: SimpleQueue[str] | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """`again` brings persons who are to be announced once more when they are seen next."""
        self._again: SimpleQueue[str] = again or SimpleQueue()
        self._batches = batches
        self._announce = announce
        self._open_knowledge = open_knowledge
        self._tap = tap
        self._interest = interest
        self._policy = policy
        self._freshness = freshness
        self._figures = figures
        self._stop = stop
        self._tray = tray
        self._now_ns = now_ns
        self._troubles: dict[str, str] = {}
        self._unreadable = False
        self._odd_at = 0.0
        self._turns: dict[int, int] = {}
        self._turn = 0
        self._sized: tuple[int, float] | None = None

    def run(self, heartbeat: Heartbeat) -> None:
        """Until `stop` or the end of the batches."""
        with self._open_knowledge() as knowledge:
            self._figures.templates = knowledge.index.size
            while not self._stop.is_set():
                heartbeat.beat()
                try:
                    batch = self._batches.take(TAKE_SECONDS)
                except Closed:
                    return
                self._catch_up(knowledge)
                if batch is not None:
                    self._hear_again()
                    self._tap.show(batch)
                    for happening in self._judge(knowledge, batch):
                        self._announce(happening)

    def finish(self) -> None:
        """Closes the input; batches hold nothing that must be released."""
        self._batches.close()

    def _hear_again(self) -> None:
        with suppress(Empty):
            while True:
                self._policy.announce_again(self._again.get_nowait())

    def _catch_up(self, knowledge: Knowledge) -> None:
        """Takes over changes of the gallery. What cannot be read is said, and tried again."""
        try:
            knowledge.index.refresh()
        except (GalleryError, StorageError) as error:
            self._complain("gallery", str(error))
            # With nobody left to compare with, nobody can be called a stranger either.
            self._unreadable = knowledge.index.size == 0
        else:
            self._settle("gallery", "can be read again")
            self._unreadable = False
        self._figures.templates = knowledge.index.size

    def _judge(self, knowledge: Knowledge, batch: FaceBatch) -> Iterator[Happening]:
        threshold = self._threshold(knowledge)
        now = batch.captured_ns / 1e9
        # Who has waited longest comes first: with a slow embedder the others of a batch grow old.
        for face in sorted(batch.faces, key=lambda face: self._turns.get(face.track.id, 0)):
            if not self._policy.wants(face.track.id, now):
                continue
            if not self._freshness.is_fresh(batch.captured_ns, self._now_ns()):
                self._figures.batches_stale += 1
                break
            self._turn += 1
            self._turns[face.track.id] = self._turn
            evidence = self._evidence(knowledge, face)
            decision = self._policy.observe(face.track.id, evidence, threshold=threshold, now=now)
            self._interest.settle(
                face.track.id,
                self._policy.settled_until(face.track.id),
                self._policy.patient_until(face.track.id),
            )
            if decision is not None:
                decided_ns = self._now_ns()
                self._figures.decisions[decision.outcome] += 1
                self._figures.stages["capture_to_decision"].record(
                    max(decided_ns - batch.captured_ns, 0) / 1e9
                )
                if face.picture is not None:
                    # Before the event, which is asked for its picture.
                    self._tray.lay_down(
                        TakenPicture(face.track.id, batch.captured_ns, face.picture)
                    )
                yield DecisionMade(face.track.id, decision, batch.captured_ns, decided_ns)
        for track in batch.left:
            last = self._policy.leave(track.id)
            self._interest.forget(track.id)
            self._turns.pop(track.id, None)
            yield FaceLeft(track.id, last, max(track.seen - track.born, 0.0))

    def _threshold(self, knowledge: Knowledge) -> float:
        """Asked for again only when the gallery's size has changed."""
        size = knowledge.index.size
        if self._sized is None or self._sized[0] != size:
            self._sized = size, knowledge.threshold(size)
        return self._sized[1]

    def _evidence(self, knowledge: Knowledge, face: SeenFace) -> Evidence:
        if faults := (UNREADABLE,) if self._unreadable else face.faults:
            return Evidence(None, faults, Liveness.NOT_CHECKED)
        try:
            match = self._match(knowledge, face)
        except EmbeddingError as error:
            # An odd embedding is doubt: it counts as a picture too poor to judge, and is seen.
            self._odd_at = time.monotonic()
            self._complain("recognise", str(error))
            return Evidence(None, (ODD,), Liveness.NOT_CHECKED)
        if time.monotonic() - self._odd_at > QUIET_SECONDS:
            self._settle("recognise", "embeds again")
        return Evidence(match, (), Liveness.NOT_CHECKED)

    def _complain(self, where: str, detail: str) -> None:
        """Says a trouble when it begins, and when it becomes another one."""
        if self._troubles.get(where) != detail:
            self._troubles[where] = detail
            self._announce(Trouble(where, detail))

    def _settle(self, where: str, detail: str) -> None:
        """Says that a trouble is over, where there was one."""
        if self._troubles.pop(where, None) is not None:
            self._announce(Trouble(where, detail))

    def _match(self, knowledge: Knowledge, face: SeenFace) -> Match | None:
        started = time.perf_counter()
        embedding = knowledge.embedder.embed(face.aligned)
        embedded = time.perf_counter()
        match = knowledge.index.search(embedding)
        self._figures.stages["embed"].record(embedded - started)
        self._figures.stages["match"].record(time.perf_counter() - embedded)
        self._figures.embeddings += 1
        return match
