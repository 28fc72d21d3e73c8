"""`edgefaced doors`: what doors demand, how they are, and what an operator does to them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click
from rich.table import Table

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.numbers import NumberRange
from edgefaced.cli.output import json_option, note, plain, print_json, stdout
from edgefaced.errors import ConfigError

doors_argument = click.argument("names", metavar="[DOOR]...", nargs=-1)


@click.group()
def doors() -> None:
    """Doors: what they demand, how they are, lockdown, holding open."""


@doors.command("list")
@json_option
@pass_context
def list_doors(context: CliContext, *, as_json: bool) -> None:
    """What every configured door hangs on and demands, and what to know about it."""
    from edgefaced.doors.plan import cautions, plans_of

    settings = context.settings()
    plans_of(settings)
    words = cautions(settings)
    if as_json:
        body = {name: door.model_dump(mode="json") for name, door in settings.doors.items()}
        print_json({"doors": body, "cautions": words})
        return
    if not settings.doors:
        note("no door is configured; `[doors.NAME]` in the configuration makes one")
        return
    table = Table("door", "lock", "demands", "button", "contact", box=None, pad_edge=False)
    for name, door in settings.doors.items():
        relay = f"{door.relay_line} for {door.pulse_ms} ms" if door.relay_line else ""
        wiegand = f"Wiegand-{door.wiegand_bits}" if door.wiegand_zero_line else ""
        score = f", score {door.minimum_score:g}" if door.minimum_score is not None else ""
        cells = (
            name,
            ", ".join(filter(None, (relay, wiegand))) or "none",
            f"liveness {door.liveness}{score}",
            door.button_line or "-",
            door.contact_line or "-",
        )
        table.add_row(*(plain(cell) for cell in cells))
    stdout.print(table)
    for line in words:
        note(line)


@doors.command()
@json_option
@pass_context
def status(context: CliContext, *, as_json: bool) -> None:
    """How the running daemon's doors are; exit 1 where it does not run."""
    body = _ask(context, "doors")["doors"]
    if as_json:
        print_json({"doors": body})
        return
    table = Table("door", "mode", "lock", "leaf", box=None, pad_edge=False)
    for door in body:
        lock = "UNLOCKED" if door["unlocked"] else door["lock"]
        leaf = {True: "open", False: "closed", None: "-"}[door["is_open"]]
        table.add_row(*(plain(cell) for cell in (door["name"], _mode(door), lock, leaf)))
    stdout.print(table)


@doors.command()
@doors_argument
@json_option
@pass_context
def lockdown(context: CliContext, names: tuple[str, ...], *, as_json: bool) -> None:
    """Let nobody in by these doors, or by any, until `normal`; a restart does not end it.

    Exit buttons go on working: whoever is inside must get out.
    """
    _order(context, "lockdown", names, "locked down", as_json=as_json)


@doors.command("hold-open")
@click.argument("names", metavar="DOOR...", nargs=-1, required=True)
@click.option(
    "--minutes",
    type=NumberRange(0, 720, min_open=True),
    default=10.0,
    show_default=True,
    help="For how long; a restart ends it at once.",
)
@json_option
@pass_context
def hold_open(
    context: CliContext, names: tuple[str, ...], *, minutes: float, as_json: bool
) -> None:
    """Keep doors unlocked for a time."""
    seconds = minutes * 60
    _order(context, "hold-open", names, f"held open for {minutes:g} min", as_json, seconds)


@doors.command()
@doors_argument
@json_option
@pass_context
def normal(context: CliContext, names: tuple[str, ...], *, as_json: bool) -> None:
    """End lockdown and holding open of these doors, or of all: rules decide again."""
    _order(context, "normal", names, "as the rules say", as_json=as_json)


@doors.command("open")
@click.argument("names", metavar="DOOR...", nargs=-1, required=True)
@json_option
@pass_context
def open_door(context: CliContext, names: tuple[str, ...], *, as_json: bool) -> None:
    """Unlock doors once, as for somebody who is let in; a test of the wiring as well."""
    _order(context, "open", names, "unlocked once", as_json=as_json)


@doors.command("trust-camera")
@json_option
@pass_context
def trust_camera(context: CliContext, *, as_json: bool) -> None:
    """Take the camera that is there now for the right one, after it was exchanged."""
    _order(context, "trust-camera", (), "opened by the camera that is there now", as_json=as_json)


@doors.command()
@json_option
@pass_context
def safe(context: CliContext, *, as_json: bool) -> None:
    """Make every output line of the doors inactive; for boot, and after a daemon was killed.

    Lines that a running guard holds are waited for, since they become inactive with its end. Where
    the configuration cannot be read, the lines that a daemon used last are taken, and the exit code
    still says so.
    """
    from edgefaced.doors.plan import locks_of
    from edgefaced.doors.remembered import recall
    from edgefaced.doors.safe import make_safe

    used = recall(context.places.door_lines_file)
    try:
        locks = locks_of(context.settings())
    except ConfigError:
        make_safe(used)
        raise
    lines = make_safe((*locks, *used))
    if as_json:
        print_json({"lines": lines})
    else:
        stdout.print(plain(f"inactive: {', '.join(lines) or 'no line is configured'}"))


def _order(
    context: CliContext,
    order: str,
    names: tuple[str, ...],
    done: str,
    as_json: bool,
    seconds: float | None = None,
) -> None:
    options = {} if seconds is None else {"seconds": seconds}
    _ask(context, "door-order", order=order, doors=names, **options)
    if as_json:
        print_json({"order": order, "doors": list(names)})
    else:
        stdout.print(plain(f"{', '.join(names) or 'all doors'}: {done}"))


def _ask(context: CliContext, command: str, **options: object) -> dict[str, Any]:
    from edgefaced.control.client import connect

    with connect(context.places.control_sockets(context.settings())) as client:
        return client.ask(command, **options)


def _mode(door: dict[str, Any]) -> str:
    if door["lockdown"]:
        return "LOCKDOWN"
    held = door["held_seconds"]
    return "normal" if held is None else f"held open for {timedelta(seconds=int(held))}"
