"""The operator report: what of a network runs where, before and after the toolkit has seen it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from edgefaced.cli.output import plain, stdout
from edgefaced_convert.layer_table import Layer
from edgefaced_convert.operators import Network
from edgefaced_convert.rules import FALL_BACKS, Finding, Verdict, judge

SHOWN_NAMES = 3
PLAIN_WIDTH = 160
"""Columns of a table that goes to a file."""


@dataclass(frozen=True, slots=True)
class OperatorReport:
    """Findings on one network; `layers` and `said` are the toolkit's own, empty before a build."""

    network: str
    target: str
    findings: tuple[Finding, ...]
    layers: tuple[Layer, ...] = ()
    said: tuple[str, ...] = ()

    @property
    def fall_backs(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.verdict in FALL_BACKS)

    @property
    def on_cpu(self) -> tuple[Layer, ...]:
        """What the compiler really left to the CPU."""
        return tuple(layer for layer in self.layers if layer.on_cpu)

    @property
    def clean(self) -> bool:
        """The compiler's word where there is one, else the rules'."""
        return not self.on_cpu if self.layers else not self.fall_backs


def report_on(
    network: Network,
    target: str,
    layers: Sequence[Layer] = (),
    said: Sequence[str] = (),
) -> OperatorReport:
    """Applies the rules, and puts the toolkit's word beside them."""
    findings = tuple(judge(network, target))
    return OperatorReport(network.name, target, findings, tuple(layers), tuple(said))


def as_json(report: OperatorReport) -> dict[str, Any]:
    """The body of the command's document."""
    counts = Counter(f.verdict.value for f in report.findings)
    return {
        "network": report.network,
        "target": report.target,
        "clean": report.clean,
        "counts": dict(counts),
        "operators": [asdict(f) for f in report.findings],
        "toolkit": {
            "layers": len(report.layers),
            "on_cpu": [asdict(layer) for layer in report.on_cpu],
            "said": list(report.said),
        },
    }


def show(report: OperatorReport) -> None:
    """A table with one row for each kind, variant and verdict, the worst first."""
    order = list(Verdict)
    groups: dict[tuple[str, str, Verdict], list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.kind, finding.variant, finding.verdict), []).append(finding)
    table = Table(box=None, pad_edge=False)
    for title in ("n", "operator", "verdict", "why", "what to do"):
        table.add_column(title, justify="right" if title == "n" else "left")
    for (kind, variant, verdict), found in sorted(
        groups.items(), key=lambda item: (-order.index(item[0][2]), item[0][0])
    ):
        name = f"{kind} ({variant})" if variant else kind
        first = found[0]
        cells = (str(len(found)), name, verdict.value, first.why, first.cure)
        table.add_row(*(plain(cell) for cell in cells))
    stdout.print(plain(f"{report.network} on {report.target}"))
    wide = stdout if stdout.is_terminal else Console(width=PLAIN_WIDTH, highlight=False)
    wide.print(table)
    if report.layers:
        names = ", ".join(f"{layer.kind} {layer.name}" for layer in report.on_cpu[:SHOWN_NAMES])
        more = len(report.on_cpu) - SHOWN_NAMES
        rest = f", {more} more" if more > 0 else ""
        where = f"{len(report.on_cpu)} on the CPU: {names}{rest}" if names else "all on the NPU"
        stdout.print(plain(f"the compiler made {len(report.layers)} layers of it, {where}"))
    for line in report.said:
        stdout.print(plain(f"  {line}"))
