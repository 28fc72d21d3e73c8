"""Where the time of a line's threads goes, and how much of it holds Python's lock at most.

Every thread reads its own clocks where its work begins and where it ends: wall time, processor time
(`time.thread_time`), and what the kernel counts of it: how long it was ready and had no core, how
often it slept. What is left of the wall time it waited: for a frame, for another stage, for the
lock.

The lock (GIL) has no clock that a program could read. But it is free inside onnxruntime's `run` and
inside OpenCV's functions, and nearly nowhere else in this program; so processor time outside them
is the most that a stage can have held it (numpy lets go of it, too, in some loops). What is inside
is measured with a profiling hook that reads the thread's clock around each such call. The hook
makes Python's own part slower, so that it runs in a passing of its own, and only what it measured
inside is taken from there.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType, FrameType
from typing import Any

import cv2

TASKS = Path("/proc/self/task")
RUNTIME = "onnxruntime"
OPENCV = frozenset(f for f in vars(cv2).values() if isinstance(f, BuiltinFunctionType))


@dataclass(frozen=True, slots=True)
class StageTime:
    """One stage of one passing, in seconds. `ready` is time without a core; None is unknown.

    `outside` is processor time in calls that let go of Python's lock, where it was looked for.
    """

    wall: float
    cpu: float
    ready: float | None
    sleeps: int
    outside: float | None

    @property
    def waiting(self) -> float:
        """Wall time in which it neither ran nor could have."""
        return max(self.wall - self.cpu - (self.ready or 0.0), 0.0)


@dataclass(frozen=True, slots=True)
class StageCost:
    """A stage, in milliseconds a frame of the film and sleeps a second.

    `locked_at_most` is processor time outside the calls that let go of Python's lock.
    """

    stage: str
    wall_ms: float
    cpu_ms: float
    locked_at_most_ms: float
    ready_ms: float | None
    waiting_ms: float
    sleeps_per_second: float


class StageClocks:
    """Clocks of all stages; each is started and stopped by its own thread."""

    def __init__(self, *, hooked: bool = False) -> None:
        """`hooked` measures what runs outside Python's lock, and slows everything down."""
        self.times: dict[str, StageTime] = {}
        self._hooked = hooked
        self._begun: dict[str, tuple[float, float, float | None, int]] = {}
        self._outside: dict[str, _Outside] = {}

    def start(self, stage: str) -> None:
        """From here on the calling thread is the stage's."""
        if self._hooked:
            self._outside[stage] = _Outside()
            sys.setprofile(self._outside[stage])
        self._begun[stage] = _now()

    def stop(self, stage: str) -> None:
        """The stage's work is over; a stage that never started has none."""
        if stage not in self._begun:
            return
        now, begun = _now(), self._begun.pop(stage)
        if self._hooked:
            sys.setprofile(None)
        ready = None if now[2] is None or begun[2] is None else now[2] - begun[2]
        self.times[stage] = StageTime(
            wall=now[0] - begun[0],
            cpu=now[1] - begun[1],
            ready=ready,
            sleeps=now[3] - begun[3],
            outside=self._outside[stage].seconds if self._hooked else None,
        )


def stage_costs(
    times: dict[str, StageTime], hooked: dict[str, StageTime], frames: int
) -> tuple[StageCost, ...]:
    """Costs of a passing, with what runs outside the lock from a `hooked` one of the same film."""
    per_frame = 1000 / max(frames, 1)
    return tuple(
        StageCost(
            stage=stage,
            wall_ms=taken.wall * per_frame,
            cpu_ms=taken.cpu * per_frame,
            locked_at_most_ms=max(taken.cpu - (hooked[stage].outside or 0.0), 0.0) * per_frame,
            ready_ms=None if taken.ready is None else taken.ready * per_frame,
            waiting_ms=taken.waiting * per_frame,
            sleeps_per_second=taken.sleeps / taken.wall if taken.wall else 0.0,
        )
        for stage, taken in times.items()
        if stage in hooked
    )


class _Outside:
    """A profiling hook: processor time of the thread inside calls that let go of the lock."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since: float | None = None

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            if called in OPENCV or _is_run(called):
                self._since = time.thread_time()
        elif self._since is not None and event in ("c_return", "c_exception"):
            self.seconds += time.thread_time() - self._since
            self._since = None


def _is_run(called: Any) -> bool:
    module = getattr(called, "__module__", None) or ""
    return called.__name__ == "run" and module.startswith(RUNTIME)


def _now() -> tuple[float, float, float | None, int]:
    task = TASKS / str(threading.get_native_id())
    return time.monotonic(), time.thread_time(), _ready(task), _sleeps(task)


def _ready(task: Path) -> float | None:
    """Seconds in which the thread was ready to run and had no core; None without the figure."""
    try:
        return int((task / "schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return None


def _sleeps(task: Path) -> int:
    """How often the thread has given up its core by itself."""
    for line in (task / "status").read_text().splitlines():
        if line.startswith("voluntary_ctxt_switches:"):
            return int(line.split()[1])
    return 0
