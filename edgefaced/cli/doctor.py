"""`edgefaced doctor`: whether this machine is fit, line by line, each with what mends it."""

from __future__ import annotations

from collections import Counter

import click
from rich.text import Text

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, plain, print_json, stdout

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

    counts: Counter[str] = Counter()
    body: list[dict[str, str]] = []
    for finding in examine(context.settings, context.settings_file, context.places):
        level = str(finding.level)
        counts[level] += 1
        if as_json:
            body.append(
                {
                    "area": finding.area,
                    "level": level,
                    "message": finding.message,
                    "hint": finding.hint,
                }
            )
            continue
        line = Text(f"{level:8}", style=STYLES[level])
        stdout.print(line + plain(f"{finding.area}: {finding.message}"))
        if finding.hint:
            stdout.print(plain(f"        -> {finding.hint}"))
    if as_json:
        print_json({"findings": body}, ok=not counts["fault"])
    else:
        kinds = (("fault", "faults"), ("warning", "warnings"), ("ok", "ok"))
        stdout.print(", ".join(f"{counts[kind]} {said}" for kind, said in kinds))
    return 1 if counts["fault"] else 0
