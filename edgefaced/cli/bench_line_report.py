"""What `edgefaced bench line` says: lines for a person, a body for JSON."""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import Any

import numpy as np
from rich.table import Table

from edgefaced.benchmark.line import LineFigures, Rival
from edgefaced.benchmark.passing import Passing
from edgefaced.cli.bench_report import copied_body, copied_line


def line_table(figures: LineFigures) -> Table:
    """One row a program; medians of its passings."""
    table = Table(box=None, pad_edge=False)
    table.add_column("way")
    for heading in (
        "frames/s",
        "CPU s a minute",
        "whole",
        "close",
        "embedded",
        "network ms a frame",
        "decided",
    ):
        table.add_column(heading, justify="right")
    for passings in (figures.ours, *(rival.passings for rival in figures.rivals)):
        first = passings[0]
        table.add_row(
            first.name,
            f"{median(p.frames_per_second for p in passings):.0f}",
            f"{median(p.cpu_per_minute for p in passings):.2f}",
            str(first.whole_looks),
            str(first.close_looks),
            str(first.embeddings),
            f"{figures.costs.per_frame(first):.2f}",
            ", ".join(f"{d.outcome} @{d.frame}" for d in first.decided) or "nothing",
        )
    return table


def stage_cost_table(figures: LineFigures) -> Table:
    """One row a stage of the daemon: milliseconds a frame, in the film's own time."""
    table = Table(box=None, pad_edge=False)
    table.add_column("stage, ms a frame")
    for heading in ("wall", "CPU", "Python's lock", "no core", "waiting", "sleeps/s"):
        table.add_column(heading, justify="right")
    for stage in figures.stages:
        table.add_row(
            stage.stage,
            f"{stage.wall_ms:.2f}",
            f"{stage.cpu_ms:.2f}",
            f"<= {stage.locked_at_most_ms:.2f}",
            "-" if stage.ready_ms is None else f"{stage.ready_ms:.2f}",
            f"{stage.waiting_ms:.2f}",
            f"{stage.sleeps_per_second:.0f}",
        )
    return table


def line_lines(figures: LineFigures) -> list[str]:
    """The ratios, what they rest on, and the latencies."""
    first = figures.ours[0]
    lines = [
        f"{figures.film}: {first.frames} frames, {first.film_seconds:.1f} s, "
        f"{len(figures.ours)} rounds",
        f"network cost of a frame: {figures.network_share:.3f} of finding and embedding each "
        f"(whole {figures.costs.whole_ms:.2f}, close {figures.costs.close_ms:.2f}, "
        f"embedding {figures.costs.embed_ms:.2f} ms)",
    ]
    for rival in figures.rivals:
        lines.append(
            f"{rival.live.name}: {median(rival.cpu_ratios):.2f}x our processor time "
            f"({min(rival.cpu_ratios):.2f} to {max(rival.cpu_ratios):.2f}); {_agreed(rival)}"
        )
    if figures.copied is not None:
        lines.append(copied_line(figures.copied))
    lines.append("capture to decision, in the film's own time:")
    for live in (figures.ours_live, *(rival.live for rival in figures.rivals)):
        lines.append(f"  {live.name}: {_ages(live)}, {live.cpu_per_minute:.2f} CPU s a minute")
    for slow in figures.slow:
        thirds = ", ".join(f"{p95:.0f}" for p95 in slow.p95_of_thirds_ms())
        lines.append(
            f"a recogniser {slow.delay_ms:g} ms slower: 95 % of the frames judged were younger "
            f"than {thirds} ms in the thirds of the film, the oldest {max(slow.ages_ms):.0f} ms; "
            f"{slow.too_old or 'none'} of {len(slow.ages_ms)} older than two looks "
            f"({min(slow.limits_ms):.0f} to {max(slow.limits_ms):.0f} ms); not judged: "
            f"{slow.displaced} times newer faces had come, {slow.stale} times too old"
        )
    return lines


def line_body(figures: LineFigures) -> dict[str, Any]:
    return {
        "film": figures.film,
        "network_ms": asdict(figures.costs),
        "network_share": figures.network_share,
        "copied": None if figures.copied is None else copied_body(figures.copied),
        "ours": [_passing(p) for p in figures.ours],
        "ours_live": _passing(figures.ours_live),
        "stages": [asdict(stage) for stage in figures.stages],
        "rivals": [
            {
                "name": rival.live.name,
                "cpu_ratios": rival.cpu_ratios,
                "same_decisions": rival.delays is not None,
                "frames_later": rival.delays,
                "passings": [_passing(p) for p in rival.passings],
                "live": _passing(rival.live),
            }
            for rival in figures.rivals
        ],
        "slow": [
            {
                **asdict(slow),
                "p95_of_thirds_ms": slow.p95_of_thirds_ms(),
                "too_old": slow.too_old,
            }
            for slow in figures.slow
        ],
        "noise": asdict(figures.noise),
    }


def _passing(passing: Passing) -> dict[str, Any]:
    return {
        **asdict(passing),
        "frames_per_second": passing.frames_per_second,
        "cpu_seconds_per_minute": passing.cpu_per_minute,
    }


def _agreed(rival: Rival) -> str:
    if rival.delays is None:
        return "OTHER decisions: the costs do not compare"
    if not rival.delays:
        return "nothing to decide"
    return (
        f"the same {len(rival.delays)} decisions, ours {min(rival.delays)} to "
        f"{max(rival.delays)} frames later"
    )


def _ages(live: Passing) -> str:
    ages = [d.age_ms for d in live.decided]
    if not ages:
        return "nothing decided"
    p50, p95 = np.percentile(ages, [50, 95])
    return f"median {p50:.1f} ms, 95 % {p95:.1f} ms, n = {len(ages)}"
