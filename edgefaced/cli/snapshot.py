"""`edgefaced snapshot`: what the running daemon's camera sees, in a file."""

from __future__ import annotations

import base64
from pathlib import Path

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, plain, print_json, stdout
from edgefaced.errors import NotRunning, UsageError

FORMATS = {".jpg": "jpeg", ".jpeg": "jpeg", ".png": "png"}


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
@pass_context
def snapshot(context: CliContext, file: Path, *, as_json: bool) -> None:
    """Write one picture of the running daemon's camera to FILE (.jpg or .png), for you alone.

    Only where its configuration has control.allow_snapshots = true, only for root and the daemon's
    own user, and never unnoticed: it is an event. The daemon itself keeps no picture.
    """
    from edgefaced.control.client import connect
    from edgefaced.pictures.write import write_private

    kind = FORMATS.get(file.suffix.lower())
    if kind is None:
        raise UsageError(f"{file}: no name of a picture", f"one of {', '.join(FORMATS)}")
    with connect(context.places.control_sockets(context.settings())) as client:
        head = client.ask("snapshot", format=kind)
        data = b"".join(base64.b64decode(piece["base64"]) for piece in client.follow())
    if len(data) != head["size_bytes"]:
        raise NotRunning("the daemon stopped in the middle of the picture", "ask again")
    write_private(file, data)
    width, height = head["width_px"], head["height_px"]
    if as_json:
        size = {"width_px": width, "height_px": height, "size_bytes": len(data)}
        print_json({"file": str(file), "format": kind, **size})
        return
    stdout.print(plain(f"{file}: {width}x{height}"))
