"""How commands speak: results on stdout (one JSON document with --json), the rest on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.text import Text

from edgefaced.errors import EdgefacedError
from edgefaced.supervisor import goes_to_journal

CONTRACT_VERSION = 1

JOINERS = "\u200c\u200d"
"""Invisible, but part of emoji and of how Persian and Indic names are written."""

Command = TypeVar("Command", bound=Callable[..., Any])

stdout = Console(highlight=False, soft_wrap=True)
stderr = Console(stderr=True, highlight=False, soft_wrap=True)


def json_option(command: Command) -> Command:
    """Adds `--json`, handed to the command as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def print_json(body: dict[str, Any], *, ok: bool = True) -> None:
    """The one document of a command: `contract_version`, `ok`, then the body's keys."""
    document = {"contract_version": CONTRACT_VERSION, "ok": ok, **body}
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    # Bytes of a command line that are no text become lone surrogates, in JSON "\udc80".
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")


def plain(value: str) -> Text:
    """Text from outside (names, paths): never markup, never control characters."""
    return Text("".join(c if c.isprintable() or c in JOINERS else "�" for c in value))


def note(line: str) -> None:
    """A line for a person, on stderr."""
    stderr.print(plain(line))


def warn(line: str) -> None:
    """A warning's one line, on stderr; in the journal with the priority of a warning."""
    priority = "<4>" if goes_to_journal(sys.stderr) else ""
    stderr.print(Text(f"{priority}warning: ") + plain(line.replace("\n", " ")))


def complain(line: str) -> None:
    """An error's one line, on stderr; in the journal with the priority of an error."""
    priority = "<3>" if goes_to_journal(sys.stderr) else ""
    stderr.print(Text(f"{priority}edgefaced: ") + plain(line.replace("\n", " ")))


def fail(error: EdgefacedError, *, as_json: bool, body: Mapping[str, Any] | None = None) -> int:
    """Says an error in one line (or one JSON document, with `body`) and returns its exit code."""
    if as_json:
        fault = {
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "retryable": error.retryable,
        }
        print_json({"error": fault, **(body or {})}, ok=False)
    else:
        complain(str(error))
    return error.exit_code
