"""Measuring several contenders side by side: in turns, so that a slow moment hits them all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contender:
    """A name and the work of one frame."""

    name: str
    run: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timed:
    """One contender's times in milliseconds; place i was measured in round i.

    `cpu_ms` is processor time of all threads: what the work costs, also where it has to wait.
    """

    name: str
    times_ms: tuple[float, ...]
    cpu_ms: tuple[float, ...]


def take_turns(
    contenders: Sequence[Contender],
    rounds: int,
    *,
    settle: Callable[[], None],
    told: Callable[[int], None] = lambda _: None,
) -> tuple[Timed, ...]:
    """Times every contender once a round, in an order that moves on by one each round.

    Before each turn `settle` waits for the one before to leave the cores, and one frame that is
    not counted brings the contender's own data and threads back. `told` hears of finished rounds.
    """
    times: list[list[float]] = [[] for _ in contenders]
    cpu: list[list[float]] = [[] for _ in contenders]
    for number in range(rounds):
        for turn in range(len(contenders)):
            which = (turn + number) % len(contenders)
            settle()
            contenders[which].run()
            cpu_start, start = time.process_time_ns(), time.perf_counter_ns()
            contenders[which].run()
            end, cpu_end = time.perf_counter_ns(), time.process_time_ns()
            times[which].append((end - start) / 1e6)
            cpu[which].append((cpu_end - cpu_start) / 1e6)
        told(number + 1)
    return tuple(
        Timed(contender.name, tuple(times_ms), tuple(cpu_ms))
        for contender, times_ms, cpu_ms in zip(contenders, times, cpu, strict=True)
    )
