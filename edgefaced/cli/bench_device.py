"""`edgefaced bench --device`: measured, and said in one text that can be pasted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from edgefaced import __version__
from edgefaced.benchmark.device import measure_device
from edgefaced.benchmark.machine import this_machine
from edgefaced.benchmark.measure import Plan
from edgefaced.cli.bench_device_report import (
    device_body,
    device_head,
    network_lines,
    verdict_lines,
    window_table,
)
from edgefaced.cli.bench_report import machine_line
from edgefaced.cli.numbers import NumberRange
from edgefaced.cli.output import plain, print_json, stdout
from edgefaced.config.settings import Settings
from edgefaced.inference.rockchip import find_npu
from edgefaced.models.store import ModelStore

Command = TypeVar("Command", bound=Callable[..., Any])


def device_options(command: Command) -> Command:
    """Adds `--device` and `--minutes`."""
    command = click.option(
        "--minutes",
        type=NumberRange(0, 24 * 60),
        default=1.0,
        show_default=True,
        help="How long --device keeps it up; heat shows after ten.",
    )(command)
    return click.option(
        "--device",
        is_flag=True,
        help="Measure what this board's NPU (or CPU) keeps up, as a text to paste.",
    )(command)


def print_device(
    plan: Plan,
    store: ModelStore,
    settings: Settings,
    minutes: float,
    told: Callable[[str, int, int], None],
    *,
    as_json: bool,
) -> None:
    figures = measure_device(plan, store, settings, find_npu(), 60 * minutes, told=told)
    if as_json:
        head = {"pack": plan.manifest.name, "threads": plan.threads, "templates": plan.templates}
        print_json({**head, "device": device_body(figures)})
        return
    pack = f"pack {plan.manifest.name}, {plan.threads} threads, {plan.templates:,} templates"
    for line in (f"edgefaced {__version__}: {device_head(figures)}", machine_line(this_machine())):
        stdout.print(plain(line))
    stdout.print(plain(pack))
    stdout.print()
    for line in network_lines(figures):
        stdout.print(plain(line))
    stdout.print()
    stdout.print(window_table(figures))
    for line in verdict_lines(figures):
        stdout.print(plain(line))
