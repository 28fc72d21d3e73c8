"""The manual page edgefaced(1) and the completion, made of the command line itself.

Runs with the packaged program on its path: `python3 -m edgefaced_deb.manual page|completion`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import click

FILES = (
    ("/etc/edgefaced/edgefaced.toml", "The configuration; every key is explained in it."),
    ("/var/lib/edgefaced/", "People, events and their keys: the service's own."),
    ("/var/lib/edgefaced/models/", "Model packs."),
    ("/run/edgefaced/control.sock", "Where members of the group edgefaced speak to the daemon."),
)


def page(version: str, epoch: int) -> str:
    """The manual page, in man(7)."""
    from edgefaced.cli.main import cli
    from edgefaced.errors import EdgefacedError

    day = datetime.fromtimestamp(epoch, UTC).date()
    context = click.Context(cli, info_name="edgefaced")
    lines = [
        f'.TH EDGEFACED 1 "{day}" "edgefaced {version}" "User Commands"',
        ".SH NAME",
        r"edgefaced \- face recognition that stays on the device",
        ".SH SYNOPSIS",
        r".B edgefaced",
        r"[\fB\-\-config\fR \fIFILE\fR] \fICOMMAND\fR [\fIOPTIONS\fR]",
        ".SH DESCRIPTION",
        *prose(cli.help or ""),
        ".SH OPTIONS",
        *options(cli, context),
        ".SH COMMANDS",
    ]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None:
            lines += section(command, context, name)
    lines += [".SH EXIT STATUS"]
    for code, words in exit_codes(EdgefacedError):
        lines += [".TP", f".B {code}", escaped(words)]
    lines += [".SH FILES"]
    for path, words in FILES:
        lines += [".TP", f".I {escaped(path)}", escaped(words)]
    return "\n".join([*lines, ".SH SEE ALSO", r".BR systemctl (1),", r".BR journalctl (1)", ""])


def section(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    """A command and what is below it."""
    if command.hidden:
        return
    context = click.Context(command, info_name=name, parent=parent)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from section(found, context, below)
        return
    usage = " ".join(command.collect_usage_pieces(context))
    yield f'.SS "{escaped(context.command_path)} {escaped(usage)}"'
    yield from prose(command.help or "")
    yield from options(command, context)


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """The options of a command with their help."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        # An argument has no help of its own: it stands in the usage and the text.
        if record is not None and record[1] and "--help" not in parameter.opts:
            yield ".TP"
            yield rf"\fB{escaped(record[0])}\fR"
            yield from prose(record[1])


def prose(text: str) -> Iterator[str]:
    """Paragraphs of a help text; one sentence a line, as man(7) wants them."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.replace("\b", "").strip())):
        if number:
            yield ".PP"
        flowing = " ".join(paragraph.split())
        yield from (escaped(s) for s in re.split(r"(?<=[.:;?!]) (?=[A-Z`])", flowing))


def escaped(text: str) -> str:
    """Text that roff takes as it is."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace('"', r"\(dq")
    return r"\&" + text if text.startswith(".") else text


def exit_codes(root: type[Exception]) -> list[tuple[int, str]]:
    """Codes with what they mean: the first line of the error's own description."""
    found = {
        0: "Success.",
        1: "The answer is no: not enrolled, no match, a check failed.",
        70: "A fault of edgefaced itself.",
        130: "Interrupted.",
    }
    ahead = [root]
    while ahead:
        kind = ahead.pop(0)
        ahead += kind.__subclasses__()
        code = getattr(kind, "exit_code", None)
        if code is not None:
            found.setdefault(code, (kind.__doc__ or "").strip().splitlines()[0])
    return sorted(found.items())


def completion() -> str:
    """Completion for bash."""
    from click.shell_completion import BashComplete

    from edgefaced.cli.main import cli

    return BashComplete(cli, {}, "edgefaced", "_EDGEFACED_COMPLETE").source()


if __name__ == "__main__":
    what, version, epoch = sys.argv[1:]
    sys.stdout.write(page(version, int(epoch)) if what == "page" else completion())
