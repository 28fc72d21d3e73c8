"""The command line's front door: a table of commands, each loaded only when it is asked for."""

from __future__ import annotations

import importlib
import io
import os
import sys
from pathlib import Path
from types import TracebackType

import click

from edgefaced import __version__
from edgefaced.cli.context import CliContext
from edgefaced.cli.output import complain, fail, note
from edgefaced.config.places import places_of_this_process
from edgefaced.errors import EdgefacedError, StorageError, UsageError

COMMANDS = {
    "enroll": ("edgefaced.cli.enroll:enroll", "Enrol a person from pictures, or from the camera."),
    "list": ("edgefaced.cli.people:list_people", "Everybody who is enrolled."),
    "show": ("edgefaced.cli.people:show", "All that is known of one person."),
    "rename": ("edgefaced.cli.people:rename", "Give a person another name."),
    "remove": (
        "edgefaced.cli.people:remove",
        "Remove people with every trace in the gallery's files.",
    ),
    "people": ("edgefaced.cli.people_import:people", "Many people at once."),
    "gallery": (
        "edgefaced.cli.gallery:gallery",
        "The gallery: figures, check, backup, key, model.",
    ),
    "verify": (
        "edgefaced.cli.verify:verify",
        "Whether two pictures, or a person and one, are the same.",
    ),
    "identify": ("edgefaced.cli.identify:identify", "Who is in pictures, videos and folders."),
    "evaluate": ("edgefaced.cli.evaluate:evaluate", "Measure how well a pack tells people apart."),
    "calibrate": (
        "edgefaced.cli.calibrate:calibrate",
        "Measure how strangers score, on your own pictures.",
    ),
    "run": (
        "edgefaced.cli.run:run_command",
        "Recognise faces in front of the camera until stopped.",
    ),
    "status": ("edgefaced.cli.status:status", "How the running daemon is."),
    "watch": ("edgefaced.cli.watch:watch", "Show events of the running daemon as they happen."),
    "snapshot": (
        "edgefaced.cli.snapshot:snapshot",
        "Write one picture of the running daemon's camera.",
    ),
    "access": ("edgefaced.cli.access:access", "Who may open which door, and when."),
    "doors": ("edgefaced.cli.doors:doors", "Doors: demands, state, lockdown, holding open."),
    "events": ("edgefaced.cli.events:events", "Every event in its order, from the ledger."),
    "attendance": (
        "edgefaced.cli.attendance:attendance",
        "Who came and who went: records, hours, corrections.",
    ),
    "doctor": ("edgefaced.cli.doctor:doctor", "Look at all that the daemon needs."),
    "bench": ("edgefaced.cli.bench:bench", "Measure stages, searches, cold start, the daemon."),
    "models": (
        "edgefaced.cli.models:models",
        "Model packs: what there is, getting it, checking it.",
    ),
    "demo": ("edgefaced.cli.demo:demo", "Recognise two people in a generated sequence; no camera."),
    "config": ("edgefaced.cli.config:config", "Show or check the configuration."),
    "setup": ("edgefaced.cli.setup:setup", "Set this device up, step by step, and try it."),
    "install-service": ("edgefaced.cli.service:install_service", "Run the daemon at every boot."),
    "uninstall": ("edgefaced.cli.service:uninstall", "Take the service away."),
}
"""name: module and attribute of its click command, and what `edgefaced --help` says of it.

Loading a module costs tens of milliseconds on a small board: `edgefaced list` does not pay for
onnxruntime, and the list of all of them loads none.
"""


class LazyGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - the table above is ours
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """click's own would load every command for its first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="edgefaced")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file instead of the usual place.",
)
@click.pass_context
def cli(ctx: click.Context, config_file: Path | None) -> None:
    """On-device face recognition: enrol people, then recognise them. Nothing leaves the machine."""
    ctx.obj = CliContext(places=places_of_this_process(), config_file=config_file)


def main() -> None:
    """Entry point: every foreseen error is one line (or document) and a documented exit code."""
    sys.excepthook = confess
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal of another encoding gets "?" for a letter that it lacks, not a traceback.
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))


def confess(kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
    """A fault of edgefaced itself: the trace for its makers, and a code that is not a "no"."""
    sys.__excepthook__(kind, error, place)
    if issubclass(kind, Exception):
        sys.exit(EdgefacedError.exit_code)


def run(arguments: list[str]) -> int:
    """Runs one command line and returns its exit code."""
    try:
        status = obey(arguments)
        sys.stdout.flush()  # else what cannot be written shows when Python ends, past all care
    except BrokenPipeError:  # the reader (`| head`) has gone
        hush()
        return 141
    except OSError as error:
        hush()
        complain(f"the output cannot be written: {error.strerror}")
        return StorageError.exit_code
    return status


def hush() -> None:
    """Lets go of a stdout that takes nothing: its buffer would fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def obey(arguments: list[str]) -> int:
    """Runs one command line; an OSError that leaves here is stdout's."""
    # After "--" everything is a name or a path, even "--json".
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in options
    if "" in arguments:  # as a path it would be the folder that one happens to stand in
        usage = UsageError("an argument is empty", "a variable without a value?")
        return fail(usage, as_json=as_json)
    try:
        status = cli.main(arguments, prog_name="edgefaced", standalone_mode=False)
    except EdgefacedError as error:
        return fail(error, as_json=as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command_path if context else "edgefaced"
        usage = UsageError(error.format_message(), f"`{command} --help` shows what is allowed")
        return fail(usage, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        note("stopped")
        return 130
    except ImportError as error:
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        note("stopped")  # while a library was being loaded, which says it in its own way
        return 130
    except OSError as error:
        if error.filename is None:
            raise
        return fail(StorageError(f"{error.filename}: {error.strerror}"), as_json=as_json)
    except SystemExit as end:
        # Nobody here raises it; click and rich do, with 1, instead of a broken pipe's error.
        raise BrokenPipeError from end
    return status if isinstance(status, int) else 0
