"""The command line: a table of commands, each loaded only when it is asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from edgefaced.cli.output import fail
from edgefaced.errors import EdgefacedError, UsageError

PROGRAM = "edgefaced_convert"

COMMANDS = {
    "report": "edgefaced_convert.commands.reporting:report",
    "probe": "edgefaced_convert.commands.reporting:probe",
    "cost": "edgefaced_convert.commands.costing:cost",
    "calibrate-set": "edgefaced_convert.commands.calibrating:calibrate_set",
    "drift": "edgefaced_convert.commands.calibrating:drift",
    "convert": "edgefaced_convert.commands.converting:convert",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, attribute = place.split(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - the table above is ours
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """From an ONNX pack to a board: report, calibrate, convert, prove and pack."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command; every error is one line and an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    try:
        code = cli.main(args=given, prog_name=PROGRAM, standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        code = fail(UsageError(error.format_message()), as_json=as_json)
    except EdgefacedError as error:
        code = fail(error, as_json=as_json)
    sys.exit(code if isinstance(code, int) else 0)
