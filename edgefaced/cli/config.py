"""`edgefaced config`: what is in force, and whether a file is in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.table import Column, Table

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, plain, print_json, stdout, warn
from edgefaced.config.settings import Settings


def flat(settings: Settings) -> dict[str, Any]:
    """`section.key` (`doors.front.key`) to value, in the order of the file."""
    return dict(_flat("", settings.model_dump(mode="json")))


def _flat(above: str, table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        # A table of nothing inside a section is a value like any other.
        if isinstance(value, dict) and (value or not above):
            yield from _flat(f"{above}{key}.", value)
        else:
            yield f"{above}{key}", value


@click.group()
def config() -> None:
    """Show or check the configuration."""


@config.command()
@click.option("--changes", is_flag=True, help="Only what differs from the defaults.")
@json_option
@pass_context
def show(context: CliContext, *, changes: bool, as_json: bool) -> None:
    """Every key, the value in force, its default, and where this process keeps things."""
    settings = context.settings()
    values, defaults = flat(settings), flat(Settings())
    shown = {k: v for k, v in values.items() if not changes or v != defaults.get(k)}
    paths = {
        "config_file": str(context.settings_file),
        "state_dir": str(context.places.state_dir),
        "models_dir": str(context.places.models_dir),
        "gallery_file": str(context.places.gallery_file),
        "key_file": str(context.places.key_file),
        "control_socket": str(context.places.control_sockets(settings)[0]),
    }
    if as_json:
        print_json({"settings": shown, "paths": paths})
        return
    table = Table(Column("key", no_wrap=True), "value", "default", box=None, pad_edge=False)
    for key, value in shown.items():
        usual = defaults.get(key)
        changed = "bold" if value != usual else ""
        default = "" if value == usual else toml_value(usual)
        table.add_row(plain(key), plain(toml_value(value)), plain(default), style=changed)
    if shown:
        stdout.print(table)
    for key, path in paths.items():
        stdout.print(plain(f"{key}: {path}"))


@config.command()
@json_option
@pass_context
def check(context: CliContext, *, as_json: bool) -> None:
    """Whether the configuration is in order and this machine has what it asks for.

    Exit 0 where the file is in order: what the machine lacks (a camera, prepared models, a thermal
    zone) is a warning, on stderr. Exit 3 with the key, the value and what is allowed where it is
    not; 5 where the manifest of its pack is broken.
    """
    from edgefaced.checkup import check as check_machine

    settings_file = context.settings_file
    settings = context.settings()
    cautions = check_machine(settings, context.places)
    values, defaults = flat(settings), flat(Settings())
    count = sum(values[k] != defaults.get(k) for k in values)
    exists = settings_file.exists()
    if as_json:
        warnings = [{"key": c.key, "message": c.message, "hint": c.hint} for c in cautions]
        document = {"file": str(settings_file), "exists": exists, "changed_keys": count}
        print_json({**document, "warnings": warnings})
        return
    for caution in cautions:
        hint = f" ({caution.hint})" if caution.hint else ""
        warn(f"{caution.key}: {caution.message}{hint}")
    state = f"in order, {count} keys differ from the defaults" if exists else "absent: defaults"
    lacks = f"; {len(cautions)} warnings" if cautions else ""
    stdout.print(plain(f"{settings_file}: {state}{lacks}"))


def toml_value(value: object) -> str:
    """How a value is written in the file; what is absent is shown as such."""
    if value is None:
        return "(absent)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)
