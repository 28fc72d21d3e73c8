"""What one program did on one film, and how two of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgefaced.benchmark.copied import Copied
from edgefaced.pipeline.perceive import BYTES_PER_FACE
from edgefaced.types import Outcome


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision, the number of the frame that brought it, and how long that had been ago.

    The age of the frame says something only where the film runs in its own time.
    """

    frame: int
    outcome: Outcome
    person_id: str | None
    age_ms: float


@dataclass(frozen=True, slots=True)
class Passing:
    """One film from its first frame to its last; networks were loaded before."""

    name: str
    frames: int
    film_seconds: float
    cpu_seconds: float
    wall_seconds: float
    decided: tuple[Decided, ...]
    whole_looks: int
    close_looks: int
    embeddings: int
    faces: int = 0
    """That were cut out of frames, where they are counted."""
    bytes_copied: int | None = None

    @property
    def frames_per_second(self) -> float:
        return self.frames / self.wall_seconds

    @property
    def cpu_per_minute(self) -> float:
        """Processor seconds, of all threads, that a minute of the film costs."""
        return self.cpu_seconds * 60 / self.film_seconds


@dataclass(frozen=True, slots=True)
class NetworkCosts:
    """Processor milliseconds of one run of each network, and of nothing around it."""

    whole_ms: float
    close_ms: float
    embed_ms: float

    def per_frame(self, passing: Passing) -> float:
        """Milliseconds a frame of the film costs in networks."""
        total = (
            passing.whole_looks * self.whole_ms
            + passing.close_looks * self.close_ms
            + passing.embeddings * self.embed_ms
        )
        return total / passing.frames


@dataclass(frozen=True, slots=True)
class InputBytes:
    """Of the detector's two networks."""

    whole: int
    close: int

    def copied(self, passing: Passing) -> Copied | None:
        """Bytes a look; None where nobody counted, or nothing was looked at."""
        looks = passing.whole_looks + passing.close_looks
        if passing.bytes_copied is None or not looks:
            return None
        bar = (
            passing.whole_looks * self.whole
            + passing.close_looks * self.close
            + passing.faces * BYTES_PER_FACE
        )
        return Copied(passing.bytes_copied / looks, bar / looks)


def delays(line: Sequence[Decided], serial: Sequence[Decided]) -> tuple[int, ...] | None:
    """Frames by which the line's decisions are later than the serial ones, each with its like.

    None where the two did not decide the same: the same outcomes for the same people, in order.
    """

    def by_subject(all_decided: Sequence[Decided]) -> dict[tuple[Outcome, str | None], list[int]]:
        frames: dict[tuple[Outcome, str | None], list[int]] = {}
        for decided in sorted(all_decided, key=lambda d: d.frame):
            frames.setdefault((decided.outcome, decided.person_id), []).append(decided.frame)
        return frames

    ours, theirs = by_subject(line), by_subject(serial)
    if {s: len(f) for s, f in ours.items()} != {s: len(f) for s, f in theirs.items()}:
        return None
    return tuple(
        mine - other
        for subject in theirs
        for mine, other in zip(ours[subject], theirs[subject], strict=True)
    )
