"""How quiet the machine was: by what measured times may be off, and when to start the next one."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
LONGEST_SETTLE_S = 0.5


@dataclass(frozen=True, slots=True)
class Noise:
    """What others did meanwhile, as shares of all processor time of the machine.

    `others` ran other processes, `stolen` went to other guests of the same host (a virtual machine
    sees no more of them than that). `load` is the load average at the end.
    """

    others: float
    stolen: float
    load: float


@dataclass(frozen=True, slots=True)
class Counters:
    """Processor time since boot, in seconds over all cores; `own` is this process'."""

    total: float
    idle: float
    stolen: float
    own: float


def counters(proc: Path = PROC) -> Counters:
    """Reads them; an unreadable or foreign /proc raises OSError or ValueError."""
    name, *fields = (proc / "stat").read_text().split("\n", 1)[0].split()
    if name != "cpu" or len(fields) < 8:
        raise ValueError(f"{proc}/stat begins with {name!r}")
    # user nice system idle iowait irq softirq steal; guest times are part of user.
    ticks = [int(field) for field in fields[:8]]
    own = os.times()
    return Counters(
        total=sum(ticks) / TICKS_PER_SECOND,
        idle=(ticks[3] + ticks[4]) / TICKS_PER_SECOND,
        stolen=ticks[7] / TICKS_PER_SECOND,
        own=own.user + own.system + own.children_user + own.children_system,
    )


def noise_between(before: Counters, after: Counters, load: float) -> Noise:
    """Shares between two readings; nothing in no time at all."""
    total = after.total - before.total
    if total <= 0:
        return Noise(others=0.0, stolen=0.0, load=load)
    stolen = after.stolen - before.stolen
    busy = total - (after.idle - before.idle) - stolen
    others = busy - (after.own - before.own)
    return Noise(
        others=min(max(others / total, 0.0), 1.0), stolen=max(stolen / total, 0.0), load=load
    )


class Watch:
    """Measures what else the machine does from now on."""

    def __init__(self) -> None:
        self._start = counters()

    def noise(self) -> Noise:
        """What it was since the start."""
        return noise_between(self._start, counters(), os.getloadavg()[0])


def settle() -> None:
    """Waits until no other thread of this process runs or wants to, half a second at most.

    Threads of an inference library may spin for a while after their work, and would take a core
    from whatever is measured next.
    """
    deadline = time.monotonic() + LONGEST_SETTLE_S
    while running_threads() and time.monotonic() < deadline:
        time.sleep(0.001)


def running_threads(tasks: Path = PROC / "self" / "task") -> int:
    """How many threads of this process, the calling one aside, run or are ready to."""
    caller = str(threading.get_native_id())
    return sum(_runs(task) for task in tasks.iterdir() if task.name != caller)


def _runs(task: Path) -> bool:
    try:
        state = (task / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has ended, before its file was opened or before it was read
    return state == "R"
