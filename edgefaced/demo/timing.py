"""How long each stage of recognition took, and the figures a person compares."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

import numpy as np


class Stage(StrEnum):
    """The stages, in the order of their work; `FRAME` is all of them for one frame."""

    DETECT = "detect"
    ALIGN = "align + quality"
    EMBED = "embed"
    MATCH = "match"
    DECIDE = "decide"
    FRAME = "whole frame"


@dataclass(frozen=True, slots=True)
class StageTime:
    """`count` runs of a stage: median and 95th percentile in milliseconds."""

    stage: Stage
    count: int
    p50_ms: float
    p95_ms: float


class Stopwatch:
    """Collects durations by stage."""

    def __init__(self) -> None:
        self._nanoseconds: dict[Stage, list[int]] = {stage: [] for stage in Stage}

    @contextmanager
    def measuring(self, stage: Stage) -> Iterator[None]:
        """Adds the time that the `with` block takes; a block that raises adds nothing."""
        began = time.perf_counter_ns()
        yield
        self._nanoseconds[stage].append(time.perf_counter_ns() - began)

    def times(self) -> tuple[StageTime, ...]:
        """Figures of every stage that ran."""
        return tuple(
            stage_time(stage, durations)
            for stage, durations in self._nanoseconds.items()
            if durations
        )


def stage_time(stage: Stage, nanoseconds: list[int]) -> StageTime:
    """Figures of the durations of one stage, of which there is at least one."""
    p50, p95 = np.percentile(np.array(nanoseconds) / 1e6, (50, 95))
    return StageTime(stage, len(nanoseconds), float(p50), float(p95))
