"""The serial loop that a line is held against: every face of every frame, found and embedded.

Tracks and decisions come from the same tracker and policy as the line's, so that only the way to
them differs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from edgefaced.benchmark.film import Film, Pace
from edgefaced.benchmark.line_rig import Bench
from edgefaced.benchmark.passing import Decided, Passing
from edgefaced.benchmark.peer import Peer
from edgefaced.core.embedding import normalise
from edgefaced.core.gates import quality_faults
from edgefaced.core.policy import DecisionPolicy, Evidence
from edgefaced.core.tracking import Tracker
from edgefaced.errors import CameraEnded
from edgefaced.gallery.index import open_index
from edgefaced.protocols import GalleryIndex
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.recognition.threshold import threshold_for
from edgefaced.types import Embedding, FaceDetection, Frame, Liveness, Role

NAME = "each frame"


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """One face of a frame, embedded."""

    detection: FaceDetection
    faults: tuple[str, ...]
    embedding: Embedding


Look = Callable[[Frame], Sequence[Known]]
"""All faces of a frame."""


def look_with(recogniser: Recogniser, bench: Bench) -> Look:
    """Our own networks, one after the other."""
    limits = bench.settings.quality.limits()

    def look(frame: Frame) -> list[Known]:
        return [
            Known(
                seen.detection,
                quality_faults(seen.quality, limits),
                recogniser.embed(seen.aligned),
            )
            for seen in recogniser.observe(frame)
        ]

    return look


def look_of_peer(peer: Peer, model_id: str, dimension: int) -> Look:
    """Another program with the same networks; it measures no quality."""

    def look(frame: Frame) -> list[Known]:
        return [
            Known(
                FaceDetection(face.box, np.zeros((5, 2), np.float32), 1.0),
                (),
                normalise(face.vector, model_id=model_id, dimension=dimension),
            )
            for face in peer.find(frame.pixels)
        ]

    return look


def run_serially(
    name: str, bench: Bench, film: Film, look: Look, model_id: str, *, pace: Pace = "fast"
) -> Passing:
    """The whole film in the calling thread; at "real" pace the frames that it is in time for."""
    embedder = bench.manifest.of_role(Role.EMBEDDER)
    with bench.open_gallery() as gallery, film.open(pace, False) as camera:
        index = open_index(gallery, model_id, bench.settings.gallery.index)
        threshold = threshold_for(bench.settings.recognition, embedder, index.size).threshold
        loop = _Loop(bench, look, index, threshold)
        cpu, begun = time.process_time(), time.monotonic()
        frames, decided, last_ns, first_ns = 0, [], 0, 0
        try:
            while True:
                lease = camera.next(1.0)
                if lease is None:
                    continue
                with lease:
                    last_ns = lease.frame.captured_ns
                    first_ns = first_ns or last_ns
                    frames += 1
                    decided += loop.judge(lease.frame)
        except CameraEnded:
            pass
        finally:
            index.close()
        return Passing(
            name=name,
            frames=frames,
            film_seconds=film_seconds(first_ns, last_ns, frames),
            cpu_seconds=time.process_time() - cpu,
            wall_seconds=time.monotonic() - begun,
            decided=tuple(decided),
            whole_looks=frames,
            close_looks=0,
            embeddings=loop.embeddings,
        )


def film_seconds(first_ns: int, last_ns: int, frames: int) -> float:
    """How long a film lasts, the last frame included."""
    return (last_ns - first_ns) / 1e9 * frames / max(frames - 1, 1)


class _Loop:
    """What the serial loop remembers from frame to frame."""

    def __init__(self, bench: Bench, look: Look, index: GalleryIndex, threshold: float) -> None:
        self._look = look
        self._index = index
        self._threshold = threshold
        self._tracker = Tracker()
        limits = bench.settings.policy.limits(bench.settings.recognition.minimum_margin)
        self._policy = DecisionPolicy(limits)
        self.embeddings = 0

    def judge(self, frame: Frame) -> list[Decided]:
        known = self._look(frame)
        self.embeddings += len(known)
        now = frame.captured_ns / 1e9
        result = self._tracker.update([face.detection for face in known], now)
        by_detection = {id(face.detection): face for face in known}
        decided: list[Decided] = []
        for track in result.seen:
            face = by_detection[id(track.detection)]
            evidence = Evidence(
                None if face.faults else self._index.search(face.embedding),
                face.faults,
                Liveness.NOT_CHECKED,
            )
            decision = self._policy.observe(track.id, evidence, threshold=self._threshold, now=now)
            if decision is not None:
                age_ms = (time.monotonic_ns() - frame.captured_ns) / 1e6
                decided.append(
                    Decided(frame.sequence, decision.outcome, decision.person_id, age_ms)
                )
        for track in result.left:
            self._policy.leave(track.id)
        return decided
