"""`edgefaced watch`: what the running daemon sees, as it happens."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import note, plain, stdout


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line.")
@pass_context
def watch(context: CliContext, *, as_json: bool) -> None:
    """Show events of the running daemon until Ctrl-C, or until it stops.

    Names are shown to root and the daemon's own user, ids to others.
    """
    from edgefaced.control.client import connect

    with connect(context.places.control_sockets(context.settings())) as client:
        client.ask("events")
        note("events of the running daemon; Ctrl-C ends this, not the daemon")
        for event in client.follow():
            if as_json:
                sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
            else:
                stdout.print(plain(said(event)))
            sys.stdout.flush()
    note("the daemon has stopped")


def said(event: dict[str, Any]) -> str:
    """One line for a person."""
    from edgefaced.sinks.words import in_words

    if event["type"] == "lost":
        return f"{event['events']} events were lost: this reader was too slow"
    return in_words(event)
