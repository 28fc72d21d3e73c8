"""What `edgefaced bench` says: tables and lines for a person, bodies for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from edgefaced.benchmark.copied import Copied
from edgefaced.benchmark.machine import Machine, this_machine
from edgefaced.benchmark.matching import MatchFigures
from edgefaced.benchmark.measure import SizeFigures
from edgefaced.benchmark.pipeline import PipelineFigures
from edgefaced.benchmark.quiet import Noise
from edgefaced.benchmark.side_by_side import OURS, Comparison
from edgefaced.benchmark.spread import Spread
from edgefaced.benchmark.start import StartFigures

NOISY = 0.05
"""Share of the processors in other hands from which figures are said to be off."""


def machine_line(machine: Machine) -> str:
    return (
        f"{machine.processor} ({machine.architecture}), {machine.usable_cores} cores usable, "
        f"{machine.memory_bytes / 2**30:.1f} GiB; onnxruntime {machine.onnxruntime}, "
        f"opencv {machine.opencv}, numpy {machine.numpy}, python {machine.python}"
    )


def machine_body() -> dict[str, Any]:
    return asdict(this_machine())


def stage_table(figures: PipelineFigures) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("stage")
    for heading in ("median ms", "95 % ms", "n"):
        table.add_column(heading, justify="right")
    for stage in figures.stages:
        table.add_row(stage.name, *_cells(stage.times))
    table.add_row("outside the networks", *_cells(figures.outside_networks))
    table.add_row("total", *_cells(figures.total), style="bold")
    return table


def comparison_lines(comparisons: Sequence[Comparison]) -> list[str]:
    """Three lines a peer: the times of both, what they say, and the processor time behind them."""
    lines: list[str] = []
    for c in comparisons:
        lines.append(
            f"beside {c.name} {c.version} ({c.settings}): {OURS} {c.ours.p50_ms:.1f} ms, "
            f"{c.name} {c.theirs.p50_ms:.1f} ms (medians of {c.ratio.n} turns)"
        )
        if c.agreement is None:
            lines.append(f"  {c.name} found other faces: the times do not compare")
            continue
        lines.append(
            f"  {c.ratio.of_medians:.2f}x by medians; {c.ratio.median:.2f}x by pairs, half of "
            f"them {c.ratio.lower:.2f}x to {c.ratio.upper:.2f}x; {_agreed(c)}"
        )
        lines.append(
            f"  processor time of all threads: {OURS} {c.ours_cpu.p50_ms:.1f} ms, {c.name} "
            f"{c.theirs_cpu.p50_ms:.1f} ms; {c.cpu_ratio.median:.2f}x by pairs"
        )
    return lines


def copied_line(copied: Copied) -> str:
    over = copied.bytes_per_frame - copied.bar_bytes
    return (
        f"bytes copied a frame: {copied.bytes_per_frame:,.0f}; the detector's input and 112x112x3 "
        f"a face are {copied.bar_bytes:,.0f}: "
        + ("no more than these" if copied.holds else f"{over:,.0f} MORE than these")
    )


def copied_body(copied: Copied) -> dict[str, Any]:
    return {**asdict(copied), "holds": copied.holds}


def size_body(figures: SizeFigures) -> dict[str, Any]:
    """One detector size; a stage's name is a key."""
    return {
        "size": figures.size,
        "picture": figures.picture,
        "stages": {stage.name: asdict(stage.times) for stage in figures.pipeline.stages},
        "outside_networks": asdict(figures.pipeline.outside_networks),
        "total": asdict(figures.pipeline.total),
        "copied": copied_body(figures.copied),
        "beside": [asdict(comparison) for comparison in figures.comparisons],
        "noise": asdict(figures.noise),
    }


def match_table(measured: Sequence[MatchFigures]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("templates", "numbers"):
        table.add_column(heading, justify="right")
    table.add_column("index")
    for heading in ("median ms", "95 % ms", "n"):
        table.add_column(heading, justify="right")
    for m in measured:
        table.add_row(f"{m.templates:,}", str(m.dimension), m.index, *_cells(m.search))
    return table


def match_body(measured: Sequence[MatchFigures]) -> list[dict[str, Any]]:
    return [asdict(m) for m in measured]


def start_lines(pack: str, figures: StartFigures) -> list[str]:
    return [
        f"`edgefaced identify` with pack {pack}, {figures.wall.n} fresh processes:",
        f"  start to answer {figures.wall.p50_ms:.0f} ms (95 %: {figures.wall.p95_ms:.0f} ms)",
        f"  processor time  {figures.cpu.p50_ms:.0f} ms",
        f"  peak memory     {figures.peak_rss_bytes / 1e6:.0f} MB",
        noise_line(figures.noise),
    ]


def noise_line(noise: Noise) -> str:
    others = noise.others + noise.stolen
    said = f"meanwhile other processes had {others:.0%} of the processors, load {noise.load:.1f}"
    return f"{said}: not a quiet machine, times are too long" if others > NOISY else said


def _cells(times: Spread) -> tuple[str, str, str]:
    return f"{times.p50_ms:.3f}", f"{times.p95_ms:.3f}", str(times.n)


def _agreed(comparison: Comparison) -> str:
    agreement = comparison.agreement
    if agreement is None:
        return "other faces"
    if agreement.cosine is None:
        return f"same face (overlap {agreement.overlap:.2f}), other networks"
    return f"same face (overlap {agreement.overlap:.2f}, cosine {agreement.cosine:.3f})"
