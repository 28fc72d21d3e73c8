"""`edgefaced bench ledger`: what it costs to record events durably on this disk."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from edgefaced.benchmark.machine import this_machine
from edgefaced.benchmark.quiet import Watch
from edgefaced.benchmark.storing import Tail, measure_storing
from edgefaced.cli.bench_report import machine_body, machine_line, noise_line
from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, note, plain, print_json, stderr, stdout


@click.command("ledger")
@click.option(
    "--events",
    type=click.IntRange(10, 1_000_000),
    default=2000,
    show_default=True,
    help="Events of each measurement.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="On whose disk; absent: where the daemon keeps its own.",
)
@json_option
@pass_context
def ledger(context: CliContext, *, events: int, folder: Path | None, as_json: bool) -> None:
    """Events a second with every one durable, and how long a door waits for that.

    Works beside the real ledger and does not touch it.
    """
    if folder is None:
        folder = context.places.state_dir
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def told(what: str, done: int, total: int) -> None:
        if stderr.is_terminal and done < total:
            note(f"measuring: {what}")

    watch = Watch()
    figures = measure_storing(folder, events, told)
    noise = watch.noise()
    if as_json:
        body = {"folder": str(folder), "ledger": asdict(figures), "noise": asdict(noise)}
        print_json({"machine": machine_body(), **body})
        return
    stdout.print(plain(machine_line(this_machine())))
    for line in (
        f"a page written and synced: {_said(figures.disk)}",
        f"one event recorded: {_said(figures.single)}; {figures.single_per_second:.0f} a second",
        f"in transactions of 256: {figures.batch_per_second:.0f} events a second",
        f"from a decision to a door, recorded in between: {_said(figures.wait)}",
        f"a flood, recorded and delivered twice: {figures.flood_per_second:.0f} events a second",
        f"{figures.bytes_per_event:.0f} bytes an event",
    ):
        stdout.print(plain(line))
    note(noise_line(noise))


def _said(figures: Tail) -> str:
    return (
        f"p50 {figures.p50_ms:.2f} ms, p99 {figures.p99_ms:.2f} ms, longest "
        f"{figures.longest_ms:.1f} ms, n = {figures.count}"
    )
