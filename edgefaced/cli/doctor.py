"""`edgefaced doctor`: whether this machine is fit, line by line, each with what mends it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click
from rich.text import Text

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, plain, print_json, stdout

if TYPE_CHECKING:
    from edgefaced.doctor.finding import Finding

STYLES = {"ok": "green", "warning": "yellow", "fault": "bold red"}


@click.command()
@json_option
@pass_context
def doctor(context: CliContext, *, as_json: bool) -> int:
    """Look at all that the daemon needs: camera, networks and NPU, clock, storage, service.

    Networks are opened as the daemon opens them, with their self-test, and run for a moment. Every
    line is ok, a warning or a fault, with what mends it. Exit 1 where there is a fault.
    """
    from edgefaced.doctor.examine import examine

    findings = examine(context.settings, context.settings_file, context.places)
    body = [shown(finding, as_json=as_json) for finding in findings]
    counts = Counter(line["level"] for line in body)
    if as_json:
        print_json({"findings": body}, ok=not counts["fault"])
    else:
        stdout.print(counted(counts))
    return 1 if counts["fault"] else 0


def shown(finding: Finding, *, as_json: bool) -> dict[str, str]:
    """Prints a finding unless all is to be one document; returns it as a part of that."""
    level = str(finding.level)
    if not as_json:
        line = Text(f"{level:8}", style=STYLES[level])
        stdout.print(line + plain(f"{finding.area}: {finding.message}"))
        if finding.hint:
            stdout.print(plain(f"        -> {finding.hint}"))
    return {
        "area": finding.area,
        "level": level,
        "message": finding.message,
        "hint": finding.hint,
    }


def counted(counts: Counter[str]) -> str:
    kinds = (("fault", "faults"), ("warning", "warnings"), ("ok", "ok"))
    return ", ".join(f"{counts[kind]} {said}" for kind, said in kinds)
